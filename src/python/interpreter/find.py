# Run by find.ts in another process, with any Python that a user names: prints where its shared library may be.
import json, os, sys, sysconfig

names = [sysconfig.get_config_var(name) for name in ("INSTSONAME", "LDLIBRARY")]
if os.name == "nt":
    threads = "t" if sysconfig.get_config_var("Py_GIL_DISABLED") else ""
    names.append("python%d%d%s.dll" % (*sys.version_info[:2], threads))
names.append(sysconfig.get_config_var("PYTHONFRAMEWORK"))
folders = [sysconfig.get_config_var("LIBDIR"), os.path.join(sys.base_prefix, "lib"), sys.base_prefix]
multiarch = sysconfig.get_config_var("MULTIARCH")
if multiarch:
    folders.append(os.path.join(sys.base_prefix, "lib", multiarch))
print(json.dumps({
    "version": sys.version_info[:2],
    "candidates": [os.path.join(folder, name) for folder in folders if folder for name in names if name],
    "prefix": sys.prefix,
    "base": sys.base_prefix,
    "executable": sys.executable,
    "debian": os.path.exists("/etc/debian_version"),
}))
