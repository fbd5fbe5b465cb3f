/** What long work does now and, where it is known, how far it is. */
export interface Progress {
  readonly what: string;
  readonly done?: number;
  readonly total?: number;
}
export type Report = (progress: Progress) => void;
