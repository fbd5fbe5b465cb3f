import { beginningWithin, hasWithin } from "../runtime/app-settings.ts";
import type { Step } from "./build-steps.ts";
import { listing } from "./python-dependencies.ts";
import { wantedPython } from "./wanted-versions.ts";

const install = ".venv/bin/pip install --disable-pip-version-check --no-input";
const requirements = '"$TMPDIR/requirements.txt"';
/** Some projects, such as a flat folder of programs, are not packages. They run with only their dependencies. */
const noPackage = 'echo "The project itself cannot be installed as a package, so only its dependencies are"';
const itself = [
  `{ ${install} --no-deps . > "$TMPDIR/project.log" 2>&1`,
  `{ tail -n 5 "$TMPDIR/project.log"; ${noPackage}; }; }`,
].join(" || ");

const installing = { name: "Installing dependencies", program: "python3" };

function ofProject(text: string, further: string): Step[] {
  const isPoetry = /^\[tool\.poetry[\].]/m.test(text);
  const dynamic = text.search(/^dynamic[ \t]*=/m);
  const isDynamic = dynamic >= 0 && text.slice(dynamic, text.indexOf("]", dynamic)).includes('"dependencies"');
  const isListed = /^\[project\]/m.test(text) && !isDynamic;
  const hasBuild = /^\[build-system\]/m.test(text);
  if (hasBuild && !isListed && !isPoetry) return [{ ...installing, command: `${install} .${further}` }];
  const isPackage = hasBuild && !/^package-mode\s*=\s*false/m.test(text);
  const dependencies = `${install} -r ${requirements}${further}`;
  // Poetry supports more forms of dependencies than `listing`.
  const either = `${install} .${further} || {\n${noPackage}\n${listing(requirements)} && ${dependencies}\n}`;
  if (isPoetry && isPackage) return [{ ...installing, command: either }];
  return [
    { name: "Reading pyproject.toml", command: listing(requirements) },
    { ...installing, command: `${dependencies}${isPackage ? ` && ${itself}` : ""}` },
  ];
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

/** Undefined for a repository without `requirements.txt` and `pyproject.toml`. */
export function pythonApp(root: string) {
  const manifest = ["requirements.txt", "pyproject.toml"].find((name) => hasWithin(root, name));
  if (manifest === undefined) return undefined;
  const text = beginningWithin(root, manifest);
  const file = ["main.py", "app.py"].find((name) => hasWithin(root, name));
  const start = file && startOf(file, beginningWithin(root, file), text);
  // FastAPI does not include a server, and not every app lists one.
  const further = start?.includes("-m uvicorn") && !/\buvicorn\b/i.test(text) ? " uvicorn" : "";
  return {
    name: "Python" as const,
    found: manifest,
    start,
    wanted: wantedPython(root),
    steps: [
      { name: "Making the virtual environment", command: "python3 -m venv .venv", program: "python3" },
      ...(manifest === "pyproject.toml"
        ? ofProject(text, further)
        : [{ ...installing, command: `${install} -r requirements.txt${further}` }]),
    ],
  };
}
