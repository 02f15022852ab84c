// npm run faults: runs scenarios in which every allocation of the addon fails once, in turn; `-- python` runs one
// scenario. Each failure must be a typed error, and must leave nothing behind. The scenario `limits` runs the package
// under limits of the system instead.
import { prepare } from './lib/needs.mjs';
import { at, Missing, main, run } from './lib/steps.mjs';

const scenarios = ['core', 'files', 'python', 'tvm-ffi', 'cuda', 'onnxruntime'];
const all = [...scenarios, 'limits'];

await main(async () => {
  if (process.platform !== 'linux') throw new Missing('Linux, whose linker can replace malloc in one library.');
  const names = process.argv.slice(2);
  const unknown = names.find((name) => !all.includes(name));
  if (unknown !== undefined) throw new Missing(`a scenario named "${unknown}"; there are ${all.join(', ')}.`);
  await prepare();
  let failed = 0;
  for (const name of names.length > 0 ? names : all) {
    if (name === 'limits') {
      const test = [at('build/tests/faults/limits.test.js')];
      const { code, output } = await run(process.execPath, ['--expose-gc', ...test], {
        allowFailure: true,
        env: { VERBOSE: '1' },
      });
      if (code !== 0) failed++;
      console.log(output.trim());
      continue;
    }
    const { code, signal, output } = await run(
      process.execPath,
      ['--expose-gc', at('build/tests/faults/run.js'), name],
      { allowFailure: true, env: { DLPACK_ADDON: at('build/native/faults/dlpack.node'), DLPACK_QUIET: '1' } },
    );
    if (code === 0) {
      console.log(output.trim().split('\n').at(-1));
    } else {
      failed++;
      console.log(`${name}: FAILED with ${signal ?? code}\n${output.trim().split('\n').slice(-20).join('\n')}`);
      console.log('DLPACK_FAULTS_TRACE=1 prints where each failing request comes from.');
    }
  }
  return failed > 0 ? 1 : 0;
});
