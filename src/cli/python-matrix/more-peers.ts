/** Peers with a command of their own, `npm run test:peers`. */

import { EXCHANGE, type PeerRow, VERSIONED } from './cells.js';

const row = (
  name: string,
  title: string,
  gives: readonly string[],
  takes: readonly string[],
  isImmutable = false,
): PeerRow => ({ name, title, gives, takes, isImmutable });

/** The routes are what a user writes, with `t` for an object of the library and `x` for a tensor of JavaScript. */
export const morePeers: readonly PeerRow[] = [
  row('OrtValue', 'onnxruntime.OrtValue', [VERSIONED], ['OrtValue.from_dlpack(x)']),
  row('TensorFlow', 'TensorFlow', [VERSIONED], ['from_dlpack(x.__dlpack__())'], true),
  row('PaddlePaddle', 'PaddlePaddle', [EXCHANGE, VERSIONED], ['from_dlpack(x)']),
  row('MLX', 'MLX', [VERSIONED], ['from_dlpack(x)']),
  row('Warp', 'NVIDIA Warp', [VERSIONED], ['from_dlpack(x)']),
  row('cuda.core', 'cuda.core.StridedMemoryView', [EXCHANGE, VERSIONED], ['from_dlpack(x, stream_ptr=-1)']),
  row('OpenVINO', 'openvino.Tensor', ['t.data'], ['Tensor(np.asarray(x), shared_memory=True)']),
  row('tinygrad', 'tinygrad', ['t.data()'], ['Tensor(np.asarray(x))']),
  row('nanoarrow', 'nanoarrow', [VERSIONED], ['c_buffer(x)', 'CBuffer.from_dlpack(x)'], true),
  row(
    'polars',
    'polars.Series',
    ['t.to_numpy()'],
    ['Series(np.asarray(x))', 'Series(pyarrow.Array.from_dlpack(x))'],
    true,
  ),
  row('pandas', 'pandas.Series', ['t.to_numpy()'], ['Series(np.asarray(x), copy=False)']),
  row('DuckDB', 'DuckDB', ["query.fetchnumpy()['x']"], ["query of { 'x': np.asarray(x) }"]),
];
