"""Describes Python modules as TypeScript declarations, from stubs (.pyi) and signatures."""
import ast
import importlib
import importlib.util
import inspect
import json
import keyword
import os
import types

RESULTS = {"int": "number", "float": "number", "bool": "boolean", "str": "string", "bytes": "Uint8Array",
           "None": "null", "NoneType": "null"}
PARAMETERS = {"int": "number | bigint", "SupportsIndex": "number | bigint", "float": "number | bigint",
              "bool": "boolean", "str": "string", "bytes": "Uint8Array", "None": "null", "NoneType": "null"}
RESERVED = {"arguments", "case", "catch", "const", "debugger", "default", "delete", "do", "enum", "eval", "export", "extends",
            "function", "implements", "instanceof", "interface", "let", "new", "null", "package", "private",
            "protected", "public", "static", "super", "switch", "this", "throw", "true", "false", "typeof", "var",
            "void", "await", "yield", "async", "type", "args", "keywords"} | set(keyword.kwlist)
DECLARED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def stub_of(module):
    """The syntax tree of the stub of a module, or None."""
    if module in stub_of.known:
        return stub_of.known[module]
    first, *rest = module.split(".")
    tree = None
    try:
        spec = importlib.util.find_spec(first)
    except (ImportError, ValueError):
        spec = None
    roots = list(spec.submodule_search_locations or [os.path.splitext(spec.origin or "")[0]]) if spec else []
    for root in roots:
        base = os.path.join(root, *rest)
        for path in (os.path.join(base, "__init__.pyi"), base + ".pyi"):
            if tree is None and os.path.exists(path):
                with open(path, encoding="utf-8") as file:
                    tree = ast.parse(file.read())
                tree.is_package = path.endswith("__init__.pyi")
    stub_of.known[module] = tree
    return tree


stub_of.known = {}


def statements(body):
    """Statements of a stub, also those that depend on the version of Python."""
    for node in body:
        if isinstance(node, ast.If):
            yield from statements(node.body)
            yield from statements(node.orelse)
        else:
            yield node


def declared(module, name, depth=0):
    """The declarations of a name in the stub of a module, wherever the stub imports it from."""
    tree = stub_of(module)
    if tree is None or depth > 8:
        return []
    found = []
    for node in statements(tree.body):
        if isinstance(node, DECLARED) and node.name == name:
            found.append(node)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id == name:
            found.append(node)
        elif isinstance(node, ast.ImportFrom) and not found:
            for alias in node.names:
                if alias.name == "*" or (alias.asname or alias.name) == name:
                    source = resolve(module, tree.is_package, node)
                    if source != module:
                        found = declared(source, name if alias.name == "*" else alias.name, depth + 1)
    return found


def resolve(module, is_package, node):
    if node.level == 0:
        return node.module or ""
    parts = module.split(".")
    parts = parts[: len(parts) - node.level + (1 if is_package else 0)]
    return ".".join(parts + ([node.module] if node.module else []))


def last_name(node):
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


class Writer:
    def __init__(self, names):
        self.names = names
        self.lines = []
        self.classes = {}  # the class itself: the name of its interface
        self.by_name = {}  # the last part of the name of a class: the interfaces

    def modules(self):
        loaded = [(name, importlib.import_module(name)) for name in self.names]
        for name, module in loaded:
            for attribute, value in public(module):
                if isinstance(value, type) and value not in self.classes:
                    interface = f"{name}.{attribute}".replace(".", "_")
                    self.classes[value] = interface
                    self.by_name.setdefault(attribute, interface)
        for name, module in loaded:
            self.module(name, module)
        entries = "".join(f"    '{name}': {name.replace('.', '_')};\n" for name in self.names)
        self.lines.append(f"declare module 'dlpack/python' {{\n  interface PythonModules {{\n{entries}  }}\n}}\n")
        versions = [f"{name} {getattr(module, '__version__', '')}".strip() for name, module in loaded]
        head = f"// Made by dlpack types from {', '.join(versions)}.\n"
        imported = "import type { Keywords, PyArgument, PyInstance, PyValue } from 'dlpack/python';\n\n"
        return head + imported + "\n".join(self.lines)

    def module(self, name, module):
        members = []
        for attribute, value in public(module):
            found = declared(name, attribute) or declared(getattr(value, "__module__", None) or "", attribute)
            if isinstance(value, type):
                interface = self.classes[value]
                if interface == f"{name}.{attribute}".replace(".", "_"):
                    self.class_of(interface, value, found)
                makers = self.makers(value, found, interface)
                members.append(f"  readonly {attribute}: {{ {' '.join(f'{maker};' for maker in makers)} }} & PyInstance;")
            elif isinstance(value, types.ModuleType):
                inner = f"{name}.{attribute}"
                members.append(f"  readonly {attribute}: {inner.replace('.', '_') if inner in self.names else 'PyValue'};")
            elif callable(value):
                members += [f"  {attribute}{signature};" for signature in self.signatures(value, found)]
            else:
                members.append(f"  readonly {attribute}: {self.constant(value, found)};")
        self.lines.append(f"export interface {name.replace('.', '_')} extends PyInstance {{\n" + "\n".join(members) + "\n}\n")

    def constant(self, value, found):
        known = RESULTS.get(type(value).__name__) if type(value).__module__ == "builtins" else None
        return known or self.classes.get(type(value), "PyValue")

    def makers(self, value, found, interface):
        """What a call of a class takes."""
        node = next((each for each in found if isinstance(each, ast.ClassDef)), None)
        for method in ("__init__", "__new__"):
            declarations = [each for each in statements(node.body) if is_function(each, method)] if node else []
            if declarations:
                return [line for each in declarations for line in self.signature(each, True, interface)]
        for method in ("__init__", "__new__"):
            function = value.__dict__.get(method)
            if isinstance(function, types.FunctionType):
                return self.of_runtime(function, True, interface)
        return [f"(...args: PyArgument[]): {interface}"]

    def class_of(self, interface, value, found):
        node = next((each for each in found if isinstance(each, ast.ClassDef)), None)
        bases = [self.classes[base] for base in value.__bases__ if base in self.classes and base is not value]
        inherited = {name for base in value.__mro__[1:] if base in self.classes for name in dir(base)} if bases else set()
        members = {}
        for each in statements(node.body) if node else []:
            if is_function(each) and visible(each.name):
                if any(last_name(mark) in ("property", "cached_property") for mark in each.decorator_list):
                    result = self.type_of(each.returns, True, interface)
                    members[each.name] = [f"  readonly {each.name}: {result};"]
                elif not any(last_name(mark) in ("setter", "deleter") for mark in each.decorator_list):
                    name = "" if each.name == "__call__" else each.name
                    is_static = any(last_name(mark) == "staticmethod" for mark in each.decorator_list)
                    shown = [f"  {name}{line};" for line in self.signature(each, not is_static, interface)]
                    members[each.name] = members.get(each.name, []) + shown
            elif isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name) and visible(each.target.id):
                members[each.target.id] = [self.attribute(each.target.id, each.annotation, interface)]
        for name, annotation in value.__dict__.get("__annotations__", {}).items():
            if visible(name) and name not in members:
                members[name] = [self.attribute(name, parsed(annotation), interface)]
        for name in dir(value):
            if name in members or not visible(name) or name in inherited:
                continue
            member = inspect.getattr_static(value, name, None)
            member = member.__func__ if isinstance(member, (staticmethod, classmethod)) else member
            if isinstance(member, types.FunctionType):
                is_bound = not isinstance(inspect.getattr_static(value, name), staticmethod)
                shown = "" if name == "__call__" else name
                members[name] = [f"  {shown}{line};" for line in self.of_runtime(member, is_bound, interface)]
            elif name == "__call__":
                members[name] = [self.attribute(name, None, interface)]
            else:
                members[name] = [f"  readonly {name}: PyValue;"]
        # Attributes that only an instance has, such as the layers of a model.
        if hasattr(value, "__getattr__"):
            members["["] = ["  readonly [name: string]: unknown;"]
        body = "\n".join(line for lines in members.values() for line in lines)
        # A base may have a method of the same name with other parameters, which TypeScript does not let an interface extend.
        heads = [*bases, "PyInstance"] if not members else []
        if bases and members:
            self.lines.append(f"interface {interface}_own {{\n{body}\n}}\n"
                              f"export type {interface} = {' & '.join([interface + '_own', *bases])};\n")
        else:
            self.lines.append(f"export interface {interface} extends {', '.join(heads or ['PyInstance'])} {{\n{body}\n}}\n")

    def attribute(self, name, annotation, interface):
        if name == "__call__":
            return "  (...args: PyArgument[]): PyValue;"
        return f"  {name}: {self.type_of(annotation, True, interface)};"

    def signatures(self, value, found):
        functions = [each for each in found if is_function(each)]
        if functions:
            return [line for each in functions for line in self.signature(each, False, None)]
        return self.of_runtime(value, False, None)

    def signature(self, node, is_bound, interface):
        """The signature of a function in a stub."""
        arguments = node.args
        positional = [*arguments.posonlyargs, *arguments.args]
        required = len(positional) - len(arguments.defaults)
        listed = [(each.arg, each.annotation, i < required) for i, each in enumerate(positional)]
        if is_bound and listed:
            listed = listed[1:]
        needs_keywords = any(default is None for default in arguments.kw_defaults)
        result = interface if node.name in ("__init__", "__new__") else self.type_of(node.returns, True, interface)
        return self.shown(listed, arguments.vararg is not None, needs_keywords, result, interface)

    def of_runtime(self, function, is_bound, interface):
        """The signature of a function that runs."""
        result = interface if getattr(function, "__name__", "") in ("__init__", "__new__") else None
        try:
            signature = inspect.signature(function)
        except (ValueError, TypeError):
            return [f"(...args: PyArgument[]): {result or 'PyValue'}"]
        listed, has_rest, needs_keywords = [], False, False
        for each in signature.parameters.values():
            if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD):
                listed.append((each.name, parsed(each.annotation), each.default is each.empty))
            elif each.kind == each.VAR_POSITIONAL:
                has_rest = True
            elif each.kind == each.KEYWORD_ONLY:
                needs_keywords |= each.default is each.empty
        if is_bound and listed:
            listed = listed[1:]
        result = result or self.type_of(parsed(signature.return_annotation), True, interface)
        return self.shown(listed, has_rest, needs_keywords, result, interface)

    def shown(self, listed, has_rest, needs_keywords, result, interface):
        """Signatures. Keyword arguments come last, and may stand for parameters from any place on."""
        parts = [(name + "_" if name in RESERVED else name, self.type_of(annotation, False, interface), is_required)
                 for name, annotation, is_required in listed]
        required = [f"{name}: {kind}" for name, kind, is_required in parts if is_required]
        optional = [f"{name}?: {joined([kind, 'Keywords'])}" for name, kind, is_required in parts if not is_required]
        end = "...args: PyArgument[]" if has_rest else "keywords?: Keywords"
        if needs_keywords and not has_rest and not optional:
            end = "keywords: Keywords"
        whole = f"({', '.join([*required, *optional, end])}): {result}"
        return [whole, *(f"({', '.join([*required[:i], 'keywords: Keywords'])}): {result}" for i in range(len(required)))]

    def type_of(self, node, is_result, interface):
        unknown = "PyValue" if is_result else "PyArgument"
        if node is None:
            return unknown
        if isinstance(node, ast.Constant):
            if node.value is None:
                return "null"
            if isinstance(node.value, str):
                return self.type_of(parsed(node.value), is_result, interface)
            return unknown
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            return joined([self.type_of(side, is_result, interface) for side in (node.left, node.right)])
        if isinstance(node, ast.Subscript):
            name = last_name(node.value)
            inside = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            if name == "Optional":
                return joined([self.type_of(inside[0], is_result, interface), "null"])
            if name == "Union":
                return joined([self.type_of(each, is_result, interface) for each in inside])
            if name == "Literal":
                return joined([literal(each, unknown) for each in inside])
            return self.type_of(node.value, is_result, interface) if is_result else unknown
        name = last_name(node)
        scalars = RESULTS if is_result else PARAMETERS
        if name in scalars:
            return scalars[name]
        if name == "Self" and interface is not None:
            return interface
        return self.by_name.get(name, unknown) if is_result else unknown


def literal(node, unknown):
    if isinstance(node, ast.Constant):
        if isinstance(node.value, str):
            return json.dumps(node.value)
        if isinstance(node.value, bool):
            return str(node.value).lower()
        if isinstance(node.value, int):
            return str(node.value)
        if node.value is None:
            return "null"
    return unknown


def joined(types_):
    parts = []
    for each in types_:
        parts += [part for part in each.split(" | ") if part not in parts]
    for unknown in ("PyArgument", "PyValue"):
        if unknown in parts:
            return unknown
    return " | ".join(parts)


def parsed(annotation):
    if annotation is inspect.Parameter.empty:
        return None
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    try:
        return ast.parse(text.strip(), mode="eval").body
    except SyntaxError:
        return None


def is_function(node, name=None):
    return isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and name in (None, node.name)


def visible(name):
    return name == "__call__" or (not name.startswith("_") and name.isidentifier() and name.isascii())


def public(module):
    """The public names of a module with their values."""
    found = []
    for name in sorted(set(getattr(module, "__all__", None) or dir(module))):
        try:
            if visible(name):
                found.append((name, getattr(module, name)))
        except Exception:
            continue  # a part that is loaded at its first use, and needs a package that is not installed
    return found


def describe(names):
    return Writer(list(names)).modules()
