import { beginningWithin, hasFileWithin, hasWithin } from "../runtime/app-settings.ts";
import type { Step } from "./build-steps.ts";
import { type Wanted, wantedPython } from "./wanted-versions.ts";

const install = ".venv/bin/pip install --disable-pip-version-check --no-input";
/** A project without a build system cannot be installed as a package, so only its dependencies are. */
const listed =
  "import tomllib; print(*tomllib.load(open('pyproject.toml', 'rb')).get('project', {}).get('dependencies', []), sep='\\n')";

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
  const ofProject = /^\[build-system\]/m.test(text)
    ? `${install} .${further}`
    : `python3 -c "${listed}" > "$TMPDIR/requirements.txt" && ${install} -r "$TMPDIR/requirements.txt"${further}`;
  return {
    name: "Python",
    found,
    start,
    wanted: wantedPython(root),
    steps: [
      { name: "Making the virtual environment", command: "python3 -m venv .venv", program: "python3" },
      {
        name: "Installing dependencies",
        command: found === "requirements.txt" ? `${install} -r requirements.txt${further}` : ofProject,
        program: "python3",
      },
    ],
  };
}
