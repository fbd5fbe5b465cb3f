// Writes the declarations of the package as a few flat files: what users can reach, and nothing of the packages that are
// bundled. With one file for each source file, an import cost 100,000 types, and TypeScript below 5.7 refused it.
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import ts from "@typescript/typescript6";
import { rollup } from "rollup";
import { dts } from "rollup-plugin-dts";

/** TypeScript writes `./a.ts` for `./a.d.ts`. */
const ownFiles = {
  name: "own-files",
  resolveId: (name, from) =>
    from && /^\.{1,2}\/.*\.ts$/.test(name) ? resolve(dirname(from), name.replace(/\.ts$/, ".d.ts")) : null,
};

/** Bundles the declarations of these entries of `lib/`, from a folder into `out`. */
export async function writeFlatTypes(from, names, out) {
  const bundle = await rollup({
    input: Object.fromEntries(names.map((name) => [`lib/${name}`, join(from, `lib/${name}.d.ts`)])),
    plugins: [ownFiles, dts()],
    external: (name) => !/^[./]/.test(name),
    onwarn: () => {},
  });
  const { output } = await bundle.write({
    dir: out,
    entryFileNames: "[name].d.ts",
    chunkFileNames: ({ name }) => `lib/types/${name.replace(/\.d$/, "")}.d.ts`,
    hoistTransitiveImports: false,
  });
  const files = output.map(({ fileName }) => join(out, fileName));
  withoutSchemas(files);
  for (const file of files) check(file);
}

/** Replaces the types that are inferred from schemas of valibot by what they are, and drops the schemas. */
function withoutSchemas(files) {
  const options = { module: ts.ModuleKind.NodeNext, target: ts.ScriptTarget.ES2023, strict: true, types: ["node"] };
  const program = ts.createProgram(files, { ...options, exactOptionalPropertyTypes: true, skipLibCheck: true });
  const checker = program.getTypeChecker();
  for (const file of files) {
    const source = program.getSourceFile(resolve(file));
    const edits = [];
    const visit = (node) => {
      const isInferred = ts.isTypeReferenceNode(node) && /^v\.Infer/.test(node.typeName.getText());
      if (isInferred) edits.push([node.getStart(), node.end, textOf(checker, checker.getTypeFromTypeNode(node), node)]);
      else ts.forEachChild(node, visit);
    };
    for (const statement of source.statements) {
      const isSchema = /\bv\.[A-Z]/.test(statement.getText()) && ts.isVariableStatement(statement);
      const isImport = ts.isImportDeclaration(statement) && statement.moduleSpecifier.text === "valibot";
      if (isSchema || isImport) edits.push([statement.getFullStart(), statement.end, ""]);
      else visit(statement);
    }
    let text = source.text;
    for (const [start, end, instead] of edits.toReversed()) text = text.slice(0, start) + instead + text.slice(end);
    // Below TypeScript 5.7, arrays of bytes have no parameter.
    writeFileSync(file, text.replaceAll(/\b(Uint8Array|Buffer)<ArrayBuffer(?:Like)?>/g, "$1"));
  }
}

/** The text of a type, with the comments of its fields. */
function textOf(checker, type, at, indent = "") {
  const inner = (one) => textOf(checker, one, at, `${indent}  `);
  if (type.isUnion() && !(type.flags & ts.TypeFlags.Boolean)) {
    const parts = new Set(type.types.map((one) => textOf(checker, one, at, indent)));
    // TypeScript keeps boolean as its two values, and lists undefined first.
    const isBoolean = parts.has("true") && parts.has("false");
    const ends = [isBoolean ? "boolean" : "", parts.has("undefined") ? "undefined" : ""];
    for (const part of isBoolean ? ["true", "false", "undefined"] : ["undefined"]) parts.delete(part);
    return [...parts, ...ends].filter((part) => part !== "").join(" | ");
  }
  if (checker.isArrayType(type))
    return `${type.symbol.name}<${textOf(checker, checker.getTypeArguments(type)[0], at, indent)}>`;
  const flags = ts.TypeFormatFlags.NoTruncation | ts.TypeFormatFlags.UseFullyQualifiedType;
  const isPlain = (type.flags & ts.TypeFlags.Object) !== 0 && type.aliasSymbol === undefined;
  const properties = type.getProperties();
  if (!isPlain || properties.length === 0 || type.getCallSignatures().length > 0 || type.symbol?.name === "Uint8Array")
    return checker.typeToString(type, at, flags);
  const fields = properties.map((property) => {
    const doc = ts.displayPartsToString(property.getDocumentationComment(checker)).replaceAll("\n", " ");
    const optional = (property.flags & ts.SymbolFlags.Optional) !== 0;
    const readonly = (ts.getCheckFlags?.(property) ?? 0) & 8 ? "readonly " : "";
    const comment = doc ? `${indent}  /** ${doc} */\n` : "";
    const name = /^[\w$]+$/.test(property.name) ? property.name : JSON.stringify(property.name);
    return `${comment}${indent}  ${readonly}${name}${optional ? "?" : ""}: ${inner(checker.getTypeOfSymbolAtLocation(property, at))};\n`;
  });
  return `{\n${fields.join("")}${indent}}`;
}

/** Users have the types of no bundled package, and no document that a comment cites. */
function check(file) {
  const text = readFileSync(file, "utf8");
  for (const [, name] of text.matchAll(/(?:from |import\()['"]([^'".][^'"]*)['"]/g))
    if (!name.startsWith("node:")) throw new Error(`${file} needs the types of ${name}, which users do not have`);
  const [cited] = /\b(SPEC|CONTRACT|ARCHITECTURE)\b.*/.exec(text) ?? [];
  if (cited) throw new Error(`${file} cites a document that the package lacks: ${cited}`);
}
