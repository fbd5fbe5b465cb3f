/** A named transition. It announces `event`. */
export interface Move<S extends string = string> {
  readonly from: readonly S[];
  readonly to: S;
  readonly event?: string;
}

/** A move becomes `UPDATE … WHERE status IN (from) RETURNING *`: of two concurrent moves, exactly one wins. */
export interface Machine<S extends string, M extends string> {
  readonly states: readonly S[];
  readonly initial: S;
  readonly terminal: readonly S[];
  readonly moves: Readonly<Record<M, Move<S>>>;
}

export function machine<const S extends string, const M extends string>(table: {
  states: readonly S[];
  initial: NoInfer<S>;
  terminal: readonly NoInfer<S>[];
  moves: Record<M, Move<NoInfer<S>>>;
}): Machine<S, M> {
  return table;
}

export const isTerminal = <S extends string>(of: Machine<S, string>, state: S): boolean => of.terminal.includes(state);
