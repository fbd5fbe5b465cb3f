/** What a pure function answered to the last texts: all deliveries to an endpoint ask about the same few. */
export function memoize<V>(work: (text: string) => V, most = 1000): (text: string) => V {
  const known = new Map<string, { readonly value: V }>();
  return (text) => {
    let found = known.get(text);
    if (!found) {
      if (known.size >= most) known.clear();
      found = { value: work(text) };
      known.set(text, found);
    }
    return found.value;
  };
}
