import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { equal } from '../assert.js';
import { testWith } from '../harness.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const python = `${root}.venv/bin/python`;
const compile = ['scripts/make-ptx.py', '--check'];

function missing(): string | false {
  if (!existsSync(python)) return 'Python packages in .venv';
  const { stderr } = spawnSync(python, compile, { cwd: root, encoding: 'utf8' });
  return stderr.includes('NVRTC not found') ? 'NVRTC in build/nvrtc (npm test installs it on Linux)' : false;
}

testWith(missing(), 'the committed PTX is what the kernels compile to', () => {
  const { status, stdout, stderr } = spawnSync(python, compile, { cwd: root, encoding: 'utf8' });
  equal(status, 0, stderr);
  equal(stdout.trim().split('\n'), [
    'copy_kernels_ptx.h is what copy_kernels.cu gives',
    'cast_kernels_ptx.h is what cast_kernels.cu gives',
    'scale_kernels_ptx.h is what scale_kernels.cu gives',
  ]);
});
