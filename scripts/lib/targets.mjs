// The platforms for which the package ships an addon, and the requirements for each file.

const kilobyte = 1024;

/**
 * `zig` is Zig's name of the platform, with the oldest system version that must load the addon. `libraries` are the
 * system libraries that the addon may need at run time. `hasCuda`: NVIDIA has drivers for the platform.
 */
export const targets = [
  ...['x64', 'arm64'].map((arch) => ({
    name: `linux-${arch}`,
    platform: 'linux',
    arch,
    zig: `${zigArch(arch)}-linux-gnu.2.17`,
    format: 'elf',
    glibc: '2.17',
    hasCuda: true,
    libraries: /^(libc\.so\.6|libdl\.so\.2|libpthread\.so\.0|ld-linux-[\w-]+\.so\.\d)$/,
  })),
  ...['x64', 'arm64'].map((arch) => ({
    name: `linux-${arch}-musl`,
    platform: 'linux',
    arch,
    zig: `${zigArch(arch)}-linux-musl`,
    format: 'elf',
    hasCuda: false,
    libraries: /^libc\.so$/,
  })),
  ...['x64', 'arm64'].map((arch) => ({
    name: `darwin-${arch}`,
    platform: 'darwin',
    arch,
    zig: `${zigArch(arch)}-macos.11.0`,
    format: 'macho',
    macos: '11.0',
    hasCuda: false,
    libraries: /^\/usr\/lib\/libSystem\.B\.dylib$/,
  })),
  ...['x64', 'arm64'].map((arch) => ({
    name: `win32-${arch}`,
    platform: 'win32',
    arch,
    zig: `${zigArch(arch)}-windows-gnu`,
    format: 'pe',
    hasCuda: arch === 'x64',
    libraries: /^(kernel32|ntdll|api-ms-win-crt-[\w-]+)\.dll$/i,
  })),
];

function zigArch(arch) {
  return arch === 'x64' ? 'x86_64' : 'aarch64';
}

/** What an addon of `npm run build:all` is made of. */
export const addonInputs = [
  'native',
  'include',
  'requirements/zig.txt',
  'scripts/build-all.mjs',
  'scripts/lib/targets.mjs',
];

/** The size limits of an addon. A smaller file is incomplete, and a larger file contains something unexpected. */
export const sizes = { least: 250 * kilobyte, most: 1536 * kilobyte };

/**
 * Where `npm run build:all` links a target's addon, before it copies the file to `prebuilds`, where `npm run build` writes
 * this machine's addon, too.
 */
export const linkedOf = (name) => `.cache/objects/${name}/dlpack.node`;

/** The path of a target's addon. */
export const prebuildOf = (name) => `prebuilds/${name}/dlpack.node`;
