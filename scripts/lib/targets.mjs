// The platforms that the package ships an addon for, and what each file must be.

const kilobyte = 1024;

/**
 * `zig` is the compiler's name for the platform with the oldest system that it has to load on; `libraries` are those that
 * the addon may need at run time, all of them parts of the system.
 */
export const targets = [
  ...['x64', 'arm64'].map((arch) => ({
    name: `linux-${arch}`,
    platform: 'linux',
    arch,
    zig: `${zigArch(arch)}-linux-gnu.2.17`,
    format: 'elf',
    glibc: '2.17',
    libraries: /^(libc\.so\.6|libdl\.so\.2|libpthread\.so\.0|ld-linux-[\w-]+\.so\.\d)$/,
  })),
  ...['x64', 'arm64'].map((arch) => ({
    name: `linux-${arch}-musl`,
    platform: 'linux',
    arch,
    zig: `${zigArch(arch)}-linux-musl`,
    format: 'elf',
    libraries: /^libc\.so$/,
  })),
  ...['x64', 'arm64'].map((arch) => ({
    name: `darwin-${arch}`,
    platform: 'darwin',
    arch,
    zig: `${zigArch(arch)}-macos.11.0`,
    format: 'macho',
    macos: '11.0',
    libraries: /^\/usr\/lib\/libSystem\.B\.dylib$/,
  })),
  ...['x64', 'arm64'].map((arch) => ({
    name: `win32-${arch}`,
    platform: 'win32',
    arch,
    zig: `${zigArch(arch)}-windows-gnu`,
    format: 'pe',
    libraries: /^(kernel32|ntdll|api-ms-win-crt-[\w-]+)\.dll$/i,
  })),
];

function zigArch(arch) {
  return arch === 'x64' ? 'x86_64' : 'aarch64';
}

/** Sizes of an addon: less is not the whole of it, more is something that crept in. */
export const sizes = { least: 250 * kilobyte, most: 1024 * kilobyte };

/** Where the addon of a target lies. */
export const prebuildOf = (name) => `prebuilds/${name}/dlpack.node`;
