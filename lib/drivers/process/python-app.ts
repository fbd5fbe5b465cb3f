import { beginningWithin, hasFileWithin, hasWithin } from "../runtime/app-settings.ts";
import type { Step } from "./build-steps.ts";
import { type Wanted, wantedPython } from "./wanted-versions.ts";

const install = ".venv/bin/pip install --disable-pip-version-check --no-input";
const requirements = '"$TMPDIR/requirements.txt"';
/** Lists the dependencies of a project. Python before 3.11 has no tomllib, but pip has one. */
const listed = `.venv/bin/python -c "import sys; toml = __import__('tomllib' if sys.version_info > (3, 11) else 'pip._vendor.tomli', fromlist=['load']); print(*toml.load(open('pyproject.toml', 'rb')).get('project', {}).get('dependencies', []), sep='\\n')" > ${requirements}`;
/** The same for Poetry, whose own library reads its form. */
const listedByPoetry = [
  `${install} --quiet --target "$TMPDIR/poetry" poetry-core`,
  `PYTHONPATH="$TMPDIR/poetry" .venv/bin/python -c "from pathlib import Path; from poetry.core.factory import Factory; print(*(one.to_pep_508() for one in Factory().create_poetry(Path()).package.requires if not one.is_optional()), sep='\\n')" > ${requirements}`,
].join(" && ");

/** Projects such as a flat folder of programs are no packages. They run with their dependencies. */
const itself = [
  `{ ${install} --no-deps . > "$TMPDIR/project.log" 2>&1`,
  '{ tail -n 5 "$TMPDIR/project.log"; echo "The project itself cannot be installed as a package, so only its dependencies are"; }; }',
].join(" || ");

/** Installs what a `pyproject.toml` lists. */
function ofProject(text: string, further: string): string {
  const isPoetry = /^\[tool\.poetry[\].]/m.test(text);
  const isListed = /^\[project\]/m.test(text) && !/^dynamic\s*=[^\]]*"dependencies"/m.test(text);
  const hasBuild = /^\[build-system\]/m.test(text);
  if (hasBuild && !isListed && !isPoetry) return `${install} .${further}`;
  const isPackage = hasBuild && !/^package-mode\s*=\s*false/m.test(text);
  return [
    isPoetry ? listedByPoetry : listed,
    `${install} -r ${requirements}${further}`,
    ...(isPackage ? [itself] : []),
  ].join(" && ");
}

/** The variable that holds a framework's app object, such as `app` in `app = Flask(__name__)`. */
const objectOf = (framework: string, program: string) =>
  new RegExp(`^(\\w+)\\s*(?::\\s*[\\w.]+\\s*)?=\\s*(?:\\w+\\.)?${framework}\\(`, "m").exec(program)?.[1];

/** The start command: a server for the framework, else the file itself. */
function startOf(file: string, program: string, requirements: string): string {
  const module = file.replace(/\.py$/, "");
  const wants = (name: string) => new RegExp(`\\b${name}\\b`, "i").test(requirements);
  const flask = objectOf("Flask", program);
  const fastApi = objectOf("FastAPI", program);
  if (fastApi !== undefined) return `python -m uvicorn ${module}:${fastApi} --host "$HOST" --port "$PORT"`;
  if (flask !== undefined && wants("gunicorn")) return `python -m gunicorn --bind "$HOST:$PORT" ${module}:${flask}`;
  if (flask !== undefined || (wants("flask") && /\bdef create_app\(/.test(program)))
    return `python -m flask --app ${module} run --host "$HOST" --port "$PORT"`;
  return `python ${file}`;
}

/**
 * How to install and start a Python app; undefined for a repository without `requirements.txt` and `pyproject.toml`.
 */
export function pythonApp(
  root: string,
): { name: "Python"; found: string; steps: Step[]; start: string | undefined; wanted: Wanted | undefined } | undefined {
  const found = ["requirements.txt", "pyproject.toml"].find((name) => hasWithin(root, name));
  if (found === undefined) return undefined;
  const text = beginningWithin(root, found);
  const file = ["main.py", "app.py"].find((name) => hasFileWithin(root, name));
  const start = file && startOf(file, beginningWithin(root, file), text);
  // FastAPI does not include a server, and not every app lists one.
  const further = start?.includes("-m uvicorn") && !/\buvicorn\b/i.test(text) ? " uvicorn" : "";
  return {
    name: "Python",
    found,
    start,
    wanted: wantedPython(root),
    steps: [
      { name: "Making the virtual environment", command: "python3 -m venv .venv", program: "python3" },
      {
        name: "Installing dependencies",
        command: found === "requirements.txt" ? `${install} -r requirements.txt${further}` : ofProject(text, further),
        program: "python3",
      },
    ],
  };
}
