/**
 * Mistakes to plant in tests/conformance/plain/tensor.mjs, each a change of its text with the case that must notice it.
 * The kit is worth what it finds.
 */

export interface Mistake {
  readonly what: string;
  readonly from: string;
  readonly to: string;
  /** A case that fails. */
  readonly found: string;
}

const mistake = (what: string, found: string, from: string, to: string): Mistake => ({ what, found, from, to });

export const mistakes: readonly Mistake[] = [
  // Producer
  mistake(
    'takes null for a request of the wrong kind',
    'p.request.null',
    'request === null) return {};',
    'false) return {};',
  ),
  mistake('ignores the version', 'p.version.0.8', 'maxVersion[0] < 1', 'maxVersion[0] < 0'),
  mistake(
    'ignores the device',
    'p.device.cuda',
    "if (device && device.type !== 1) refuse('BufferError', 'host memory only');",
    '',
  ),
  mistake('ignores the stream', 'p.stream.host.-1', 'stream !== null) refuse', 'stream > 0n) refuse'),
  mistake('answers "only" with a buffer', 'p.native.only', "native === 'only'", "native === 'never'"),
  mistake('takes any truth for a copy', 'p.bad.copy.1', "copy !== null && typeof copy !== 'boolean'", 'false'),
  mistake('never marks a copy', 'p.copy.true.flag', 'flags: IS_COPIED | padded', 'flags: padded'),
  mistake(
    'shares where a copy was asked for',
    'p.copy.true',
    'const data = this.bytes().buffer;',
    'const data = memory.buffer;',
  ),
  mistake(
    'copies where memory was to be shared',
    'p.copy.false',
    'data: memory.buffer,',
    'data: memory.buffer.slice(0),',
  ),
  mistake('forgets that memory is read-only', 'p.readonly', '(this.isReadOnly ? READ_ONLY : 0) | padded', 'padded'),
  mistake('counts the offset in bits', 'p.view.flip', 'byteOffset: this.bitOffset / 8,', 'byteOffset: this.bitOffset,'),
  mistake(
    'sends strides in bytes',
    'p.values.f32',
    'strides: [...this.strides],',
    'strides: this.strides.map((s) => s * 4),',
  ),
  mistake('sends no strides', 'p.values.f32', 'strides: [...this.strides],', 'strides: null,'),
  mistake(
    'packs padded elements',
    'p.values.i4_padded',
    'const padded = this.isPadded ? IS_PADDED : 0;',
    'const padded = 0;',
  ),
  mistake(
    'shares a view that starts inside a byte',
    'p.view.packedOdd',
    'copy === true || isInsideByte',
    'copy === true',
  ),
  mistake('returns a promise', 'p.synchronous', '[DLPACK](request) {', 'async [DLPACK](request) {'),
  mistake(
    'exports a disposed tensor',
    'p.disposed',
    "if (this.disposed) refuse('BufferError', 'the tensor was disposed');",
    '',
  ),
  mistake(
    'releases twice for two calls of the deleter',
    'p.deleter.twice',
    'const deleter = once(() => memory.leave());\n    lost',
    'const deleter = () => memory.leave();\n    lost',
  ),
  mistake(
    'frees the memory with the managed tensor',
    'p.lifetime.data',
    'lost.register(deleter, () => memory.leave(), deleter);',
    'lost.register(common.shape, () => memory.free());',
  ),
  // Consumer
  mistake(
    'recognises buffers by their class',
    'c.realm',
    "return Object.getOwnPropertyDescriptor(type.prototype, 'byteLength').get.call(value);",
    'if (value instanceof type) return value.byteLength;',
  ),
  mistake(
    'calls the method without its object',
    'c.recognise.this',
    'method.call(producer, {',
    'method.call(undefined, {',
  ),
  mistake('takes any version', 'c.bad.version.2', '|| version[0] !== 1', ''),
  mistake(
    'reads the fields of another version',
    'c.version.unread',
    'const { version } = managed;',
    'const { version, flags: early } = managed;',
  ),
  mistake('takes any flags', 'c.bad.flags.negative', 'if (!isFlags) refuse', 'if (false) refuse'),
  mistake(
    'forgets elements before the buffer',
    'c.bad.strides.before',
    "if (first + low * width < 0n) refuse('BufferError', 'an element lies before data');",
    '',
  ),
  mistake('forgets the last element', 'c.bad.data.short', '(high + 1n) * width > end', 'high * width > end'),
  mistake('counts no offset', 'c.bad.byteOffset.outside', 'BigInt(byteOffset) * 8n, BigInt(size)', '0n, BigInt(size)'),
  mistake('takes unknown types', 'c.bad.dtype.code', '!WIDTHS[code]?.includes(bits) ||', ''),
  mistake('takes buffers of other devices', 'c.bad.device.cuda', 'if (!HOST_TYPES.includes(type))', 'if (false)'),
  mistake(
    'leaks what it refuses',
    'c.bad.data.null',
    '    try {\n      release();\n    } catch {',
    '    try {\n    } catch {',
  ),
  mistake(
    'releases twice',
    'c.release.once',
    'once(() => deleter?.call(managed))',
    'once(() => [1, 2].forEach(() => deleter?.call(managed)))',
  ),
  mistake(
    'frees memory that an export uses',
    'p.lifetime.dispose',
    'if (--this.users === 0) this.free?.();',
    'this.free?.();',
  ),
  mistake('never releases', 'c.values', 'if (--this.users === 0) this.free?.();', '--this.users;'),
  mistake('never records what it consumed', 'c.once.recorded', 'if (deleter != null) set.add(managed);', ''),
  mistake(
    'consumes twice',
    'c.once.refused',
    "if (isKnown && deleter != null) refuse('BufferError', 'consumed before');",
    '',
  ),
  mistake(
    'refuses a cached answer',
    'c.once.cached',
    'if (isKnown && deleter != null)',
    'if (isKnown || set.add(managed) === null)',
  ),
  mistake('deletes without a receiver', 'c.deleter.this', 'deleter?.call(managed)', 'deleter?.()'),
  mistake(
    'hides its error behind that of the deleter',
    'c.deleter.masks',
    '    try {\n      release();\n    } catch {\n      // the first error is the one to report (5.2)\n    }',
    '    release();',
  ),
  mistake(
    'wraps errors of the producer',
    'c.error.unchanged',
    'const managed = method.call(producer, { maxVersion: [1, 3], copy, device });',
    "let managed; try { managed = method.call(producer, { maxVersion: [1, 3], copy, device }); } catch { refuse('BufferError', 'the producer failed'); }",
  ),
  mistake(
    'writes to read-only memory',
    'c.readonly',
    "if (this.isReadOnly) refuse('BufferError', 'the tensor is read-only');",
    '',
  ),
  mistake('shares although a copy was asked for', 'c.copy.true.unmarked', 'copy !== true || isCopied', 'true'),
  mistake('takes a copy although none was allowed', 'c.copy.false.marked', 'request.copy === false &&', 'false &&'),
  mistake('takes a tensor on another device', 'c.device.checked', 'request.device !== null &&', 'false &&'),
  mistake(
    'passes IS_COPIED on',
    'c.reexport.copied',
    'flags: (this.isReadOnly ? READ_ONLY : 0) | padded,',
    'flags: (this.isReadOnly ? READ_ONLY : 0) | padded | IS_COPIED,',
  ),
  mistake(
    'drops READ_ONLY of what it took',
    'c.reexport.readonly',
    'isReadOnly: (bitsSet & READ_ONLY) !== 0,',
    'isReadOnly: false,',
  ),
  mistake(
    'ends memory that its own export uses',
    'c.reexport.order',
    '    memory.users++;\n    const deleter',
    '    const deleter',
  ),
  mistake('keeps what was collected', 'c.gc', 'lost.register(this, this.#leave);', ''),
];
