// npm run sanitize: builds the addon with sanitizers and runs suitable test suites for each; `-- thread` runs one
// sanitizer, `-- address native/` only the test files whose path contains that. Fails on a report with a frame of our
// code.
import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { buildSanitized } from './lib/native.mjs';
import { prepare } from './lib/needs.mjs';
import { runTests, summary } from './lib/run-tests.mjs';
import { at, Missing, main, run } from './lib/steps.mjs';

/** The settings of each sanitizer. `thread` makes everything about ten times slower, so it runs only threaded tests. */
const sanitizers = {
  address: {
    // GCC's library writes reports of undefined behaviour to the standard error, where takeReports does not find them.
    flags: ['-fsanitize=address,undefined', '-fno-sanitize-recover=undefined'],
    library: 'libasan.so',
    options: {
      // Node and Python leak on purpose when they exit. PyTorch and ONNX Runtime throw C++ exceptions through frames
      // that are not instrumented. A small quarantine, because tests measure the memory of the process.
      ASAN_OPTIONS:
        'detect_leaks=0:detect_odr_violation=0:alloc_dealloc_mismatch=0:allocator_may_return_null=1:handle_segv=0:quarantine_size_mb=4:thread_local_quarantine_size_kb=64',
      UBSAN_OPTIONS: 'print_stacktrace=1',
    },
    suites:
      /^(unit\/|native\/|cuda\/|files\/|shared\/|onnxruntime\/|conformance\/|interop\/(python\/[a-z-]+\.|tvm-ffi\/|libraries\/))/,
    // These tests need too much memory or time: sanitized memory is not reused at once, and 600 seconds of SIMD
    // comparisons find nothing more. native/load tests the addon of the package, not this one. compile runs compilers.
    without: /native\/(convert|large-blocks|load)|interop\/python\/lifetime|tvm-ffi\/compile/,
  },
  thread: {
    flags: ['-fsanitize=thread'],
    library: 'libtsan.so',
    options: { TSAN_OPTIONS: 'report_signal_unsafe=0:report_thread_leaks=0:ignore_noninstrumented_modules=1' },
    suites: /(workers|crew|async|futures|reuse|lifetime|streams|callbacks|onnxruntime\/runs)\.test\.js$/,
    without: /interop\/python\/lifetime|unit\//,
  },
};

const reportFolder = '.cache/sanitize';

/** The reports that the processes of one test file wrote, and the reports among them with a frame of our code. */
function takeReports() {
  const files = readdirSync(at(reportFolder));
  const reports = files.map((file) => readFileSync(at(reportFolder, file), 'utf8'));
  for (const file of files) rmSync(at(reportFolder, file));
  // A report of a test that runs out of memory on purpose is a warning, not an error.
  const found = reports
    .flatMap((text) => text.split(/(?=^=+$)/m))
    .filter((text) => /ERROR|runtime error|WARNING: Thread/.test(text));
  return { found, ours: found.filter((text) => /dlpack\.node|\/native\//.test(text)) };
}

async function runtimeLibrary(name) {
  const { output } = await run('cc', [`-print-file-name=${name}`]);
  const path = output.trim();
  if (!path.includes('/')) throw new Missing(`${name}, which comes with GCC (Debian: apt install gcc).`);
  return path;
}

async function sanitize(name, filter) {
  const { flags, library, options, suites, without } = sanitizers[name];
  const addon = await buildSanitized(name, flags);
  // Preload libstdc++, because the sanitizer looks for the throwing function before any library loads libstdc++.
  const preload = [await runtimeLibrary(library), await runtimeLibrary('libstdc++.so.6')];
  rmSync(at(reportFolder), { recursive: true, force: true });
  mkdirSync(at(reportFolder), { recursive: true });
  const env = { DLPACK_ADDON: at(addon), LD_PRELOAD: preload.join(' '), DLPACK_SANITIZER: name };
  for (const [key, value] of Object.entries(options)) env[key] = `${value}:log_path=${join(at(reportFolder), key)}`;
  console.log(`Tests with the ${name} sanitizer`);
  const bad = [];
  const total = await runTests({
    command: process.execPath,
    args: ['--expose-gc'],
    filter,
    exclude: (file) => !suites.test(file) || without.test(file),
    env,
    after: (file) => {
      const { found, ours } = takeReports();
      if (found.length > ours.length)
        console.log(`  ${file}: ${found.length - ours.length} reports without a frame of ours`);
      for (const text of ours) console.log(`  ${file}\n${text}`);
      bad.push(...ours);
    },
    workers: 1, // one test file at a time, so that each report belongs to a known file
  });
  console.log(`${name}: ${summary(total)}, ${bad.length} reports of ours`);
  return total.failed + bad.length + (total.passed === 0 ? 1 : 0);
}

await main(async () => {
  if (process.platform !== 'linux') throw new Missing('Linux, where GCC has these sanitizers.');
  const [first = '', second = ''] = process.argv.slice(2);
  const named = Object.keys(sanitizers).filter((name) => name === first);
  const filter = named.length > 0 ? second : first;
  await prepare();
  let failed = 0;
  for (const name of named.length > 0 ? named : Object.keys(sanitizers)) failed += await sanitize(name, filter);
  return failed > 0 ? 1 : 0;
});
