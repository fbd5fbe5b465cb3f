declare module "*.css";
declare module "lucide/dist/esm/icons/*.mjs" {
  const parts: readonly (readonly [tag: string, attributes: Readonly<Record<string, string>>])[];
  export default parts;
}
