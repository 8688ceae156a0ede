# Run inside a fresh environment, with the names of packages as arguments: each must be importable by one of the modules that
# it has brought. Prints what is installed; ends with 1 if something cannot be imported.
import importlib
import sys
from importlib import metadata


def modules(files):
    for file in files or []:
        parts = file.parts
        name = parts[0] if len(parts) == 2 and parts[1] == "__init__.py" else None
        if len(parts) == 1 and parts[0].endswith(".py"):
            name = parts[0][:-3]
        if name and name.isidentifier() and not name.startswith("_"):
            yield name


def complaint(package):
    """Why none of the package's modules can be imported; nothing if one can, or if it has none."""
    try:
        names = sorted(set(modules(metadata.distribution(package).files)))
    except metadata.PackageNotFoundError:
        return "it is not installed"
    why = ""
    for name in names:
        try:
            importlib.import_module(name)
            return ""
        except BaseException as error:
            why = why or f"import {name}: {type(error).__name__}: {error}"
    return why


failed = False
for package in sys.argv[1:]:
    why = complaint(package)
    if why:
        failed = True
        print(f"{package}: {why}".replace("\n", " "), flush=True)

installed = {}
for each in metadata.distributions():
    name = each.metadata["Name"]
    if name:
        installed.setdefault(name, each.version or "?")
for name, version in sorted(installed.items(), key=lambda item: item[0].lower()):
    print("atelier-package", name, version, flush=True)
sys.exit(1 if failed else 0)
