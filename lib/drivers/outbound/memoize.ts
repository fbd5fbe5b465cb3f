/** Caches results of a pure function, because deliveries parse the same URLs and addresses (19 µs each). */
export function memoize<V>(work: (text: string) => V, capacity = 1000): (text: string) => V {
  const results = new Map<string, { readonly value: V }>();
  return (text) => {
    let result = results.get(text);
    if (!result) {
      if (results.size >= capacity) results.clear();
      result = { value: work(text) };
      results.set(text, result);
    }
    return result.value;
  };
}
