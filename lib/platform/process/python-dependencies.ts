import { quoted } from "../../kernel/text/shell-words.ts";

/**
 * Prints the dependencies of a `pyproject.toml` for pip, also in Poetry's form. Before 3.11, only pip has a tomllib.
 */
const program = `# prints the dependencies of pyproject.toml
import os, re, sys
toml = __import__("tomllib" if sys.version_info > (3, 11) else "pip._vendor.tomli", fromlist=["load"])
data = toml.load(open("pyproject.toml", "rb"))
listed = data.get("project", {}).get("dependencies", [])
def bounds(part):
    sign, version = re.match(r"\\s*(\\^|~(?!=))?\\s*(.*?)\\s*$", part).groups()
    if version in ("", "*"):
        return ""
    if not sign:
        return version if re.match(r"[<>=!~]", version) else "==" + version
    numbers = [int(one) for one in re.match(r"\\d+(\\.\\d+)*", version)[0].split(".")]
    first = next((i for i, one in enumerate(numbers) if one), len(numbers) - 1)
    kept = first if sign == "^" else min(1, len(numbers) - 1)
    return ">=" + version + ",<" + ".".join(str(one) for one in numbers[:kept] + [numbers[kept] + 1])
def marker(text, of):
    either = [" and ".join(filter(None, map(of, one.split(",")))) for one in re.split(r"\\|\\|?", text)]
    return " or ".join(either) if all(either) else ""
def of_python(part):
    pairs = [re.match(r"([<>=!~]+)\\s*(.*)", one).groups() for one in bounds(part).split(",") if one]
    return " and ".join('python_%sversion %s "%s"' % ("full_" if pair[1].count(".") > 1 else "", *pair) for pair in pairs)
def of_platform(part):
    sign, platform = re.match(r"\\s*([!=]*)\\s*(.*?)\\s*$", part).groups()
    return 'sys_platform %s "%s"' % (sign or "==", platform)
def form(name, given):
    one = given if isinstance(given, dict) else {"version": given}
    if one.get("optional"):
        return None
    place = one.get("url") or ("path" in one and "file://" + os.path.abspath(one["path"]))
    if "git" in one:
        ref = one.get("rev") or one.get("tag") or one.get("branch")
        place = "git+" + re.sub(r"^([\\w.-]+@[\\w.-]+):(?!//)", r"ssh://\\1/", one["git"]) + ("@" + ref if ref else "")
        place += "#subdirectory=" + one["subdirectory"] if "subdirectory" in one else ""
    version = one.get("version") or "*"
    limits = "" if "|" in version else ",".join(filter(None, map(bounds, version.split(","))))
    extras = "[" + ",".join(one["extras"]) + "]" if one.get("extras") else ""
    markers = [one.get("markers"), marker(one.get("python", ""), of_python)]
    markers += [marker(one["platform"], of_platform)] if "platform" in one else []
    where = " and ".join("(" + each + ")" for each in markers if each)
    return name + extras + (" @ " + place if place else limits) + (" ; " + where if where else "")
poetry = {} if listed else data.get("tool", {}).get("poetry", {}).get("dependencies", {})
forms = (form(name, given) for name, some in poetry.items() if name != "python"
         for given in (some if isinstance(some, list) else [some]))
print(*listed, *filter(None, forms), sep="\\n")
`;

export const listing = (file: string): string => `.venv/bin/python -c ${quoted(program)} > ${file}`;
