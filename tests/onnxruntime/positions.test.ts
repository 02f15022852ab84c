/**
 * The positions in our list of functions are those of a real header. No package has that header, so this runs only where
 * ONNXRUNTIME_HEADER names onnxruntime_c_api.h.
 */

import { readFileSync } from 'node:fs';
import { equal, ok } from '../assert.js';
import { test } from '../harness.js';

/** The names of the functions in ONNX Runtime's table, in order. */
export function functionsOf(header: string): string[] {
  const start = header.indexOf('struct OrtApi {');
  const text = header
    .slice(start, header.indexOf('\n};', start))
    .replaceAll(/\/\*[\s\S]*?\*\//g, '')
    .replaceAll(/\/\/.*$/gm, '');
  const entry =
    /ORT_API2_STATUS\(\s*(\w+)|ORT_API_T\([^,]+,\s*(\w+)|ORT_CLASS_RELEASE\(\s*(\w+)|ORT_API_CALL\s*\*\s*(\w+)\s*\)/g;
  return [...text.matchAll(entry)].map(
    ([, status, typed, released, plain]) => status ?? typed ?? plain ?? `Release${released}`,
  );
}

const ours = readFileSync(new URL('../../../native/onnxruntime/abi.h', import.meta.url), 'utf8');
const positions = [...ours.matchAll(/\bF\((\w+), (\d+), /g)].map(
  ([, name, at]) => [name as string, Number(at)] as const,
);

test('each of our functions has a position of its own', () => {
  ok(positions.length > 90, `${positions.length} functions`);
  equal(new Set(positions.map(([, at]) => at)).size, positions.length);
});

test('the functions of a header are read in order', () => {
  const header = `struct OrtApi {
    /** \\brief ORT_API2_STATUS(NotThis) */
    OrtStatus*(ORT_API_CALL* CreateStatus)(OrtErrorCode code)NO_EXCEPTION;
    ORT_API2_STATUS(CreateEnv, OrtLoggingLevel level); // ORT_API2_STATUS(NorThis)
    ORT_CLASS_RELEASE(Env);
    void(ORT_API_CALL* MemoryInfoGetDeviceType)(const OrtMemoryInfo* ptr);
  };
};
struct Other { ORT_API2_STATUS(Another); };`;
  equal(functionsOf(header), ['CreateStatus', 'CreateEnv', 'ReleaseEnv', 'MemoryInfoGetDeviceType']);
});

const { ONNXRUNTIME_HEADER: path } = process.env;
if (path) {
  test('each of our functions is where the header has it', () => {
    const functions = functionsOf(readFileSync(path, 'utf8'));
    for (const [name, at] of positions) equal([name, functions.indexOf(name)], [name, at]);
  });
}
