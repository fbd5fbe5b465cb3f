/** The current step of long work, and its progress if known. */
export interface Progress {
  readonly what: string;
  readonly done?: number;
  readonly total?: number;
}
export type Report = (progress: Progress) => void;
