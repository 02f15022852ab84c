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
    '= request ?? {};',
    '= request === undefined ? {} : request;',
  ),
  mistake('ignores the version', 'p.version.0.8', 'maxVersion[0] >= 1', 'maxVersion[0] >= 0'),
  mistake(
    'ignores the device',
    'p.device.cuda',
    "    check(device === null || device.type === 1, 'device type 1', BufferError);\n",
    '',
  ),
  mistake(
    'compares the id of a host device',
    'p.device.hostId',
    'device.type === 1,',
    '(device.type === 1 && device.id === 0),',
  ),
  mistake(
    'ignores the stream',
    'p.stream.host.-1',
    "check(stream === null, 'no",
    "check(stream === null || stream < 0n, 'no",
  ),
  mistake('answers "only" with a buffer', 'p.native.only', "check(native !== 'only'", "check(native !== 'never'"),
  mistake(
    'takes any truth for a copy',
    'p.bad.copy.1',
    "  check([null, true, false].includes(fields.copy), 'copy: true, false or null');\n",
    '',
  ),
  mistake('names every error TypeError', 'p.version.0.8.name', 'throw new Kind(', 'throw new TypeError('),
  mistake('never marks a copy', 'p.copy.true.flag', 'exported.flags | Number(IS_COPIED)', 'exported.flags'),
  mistake(
    'marks a copy of read-only memory as read-only',
    'p.copy.true.writable',
    'exported.flags | Number(IS_COPIED)',
    'exported.flags | Number(IS_COPIED) | (this.isReadOnly ? 1 : 0)',
  ),
  mistake('shares where a copy was asked for', 'p.copy.true', 'copy === true || !canShare ?', '!canShare ?'),
  mistake(
    'copies where memory was to be shared',
    'p.copy.false',
    'data: this.#memory.data,',
    'data: this.#memory.data.slice(0),',
  ),
  mistake('forgets that memory is read-only', 'p.readonly', '(this.isReadOnly ? READ_ONLY : 0n) |', ''),
  mistake('counts the offset in bits', 'p.view.flip', 'byteOffset: firstBit / 8,', 'byteOffset: firstBit,'),
  mistake(
    'sends strides in bytes',
    'p.values.f32',
    'strides: [...strides],',
    'strides: strides.map((stride) => stride * 4),',
  ),
  mistake('sends no strides', 'p.values.f32', 'strides: [...strides],', 'strides: null,'),
  mistake('packs padded elements', 'p.values.i4_padded', '(isPadded ? IS_PADDED : 0n)', '0n'),
  mistake('shares a view that starts inside a byte', 'p.view.packedOdd', 'this.#layout.firstBit % 8 === 0 &&', ''),
  mistake(
    'copies a view as if it had no steps',
    'p.view.flip.copy',
    'copyBits(from, firstBit + place * width, to, i * width, width);',
    'copyBits(from, firstBit + Math.abs(place) * width, to, i * width, width);',
  ),
  mistake(
    'returns a promise',
    'p.synchronous',
    "[Symbol.for('dlpack')](request) {",
    "async [Symbol.for('dlpack')](request) {",
  ),
  mistake('exports a disposed tensor', 'p.disposed', '    this.#memory = null;\n', ''),
  mistake('releases twice for two calls of the deleter', 'p.deleter.twice', '      isUsed = false;\n', ''),
  mistake(
    'frees the memory with the managed tensor',
    'p.lifetime.data',
    'shape: [...shape],\n      strides: [',
    'shape: ((axes, memory) => {\n      collected.register(axes, () => memory.bytes().fill(0));\n      return axes;\n    })([...shape], this.#memory),\n      strides: [',
  ),
  mistake(
    'copies a buffer that it wraps',
    'p.buffer.shares',
    'new PlainTensor(new Memory(data, () => {})',
    'new PlainTensor(new Memory(data.slice(0), () => {})',
  ),
  mistake(
    'counts the offset from the end of the buffer',
    'p.buffer.grows',
    'byteOffset: firstBit / 8,',
    'get byteOffset() {\n        return firstBit / 8 + this.data.byteLength - 24;\n      },',
  ),
  mistake(
    'exports a memory that grows to a consumer that does not follow it',
    'p.memory.grows',
    '(!this.#used().isWasm || memory === true)',
    'true',
  ),
  mistake(
    'shares the buffer of a memory that grows',
    'p.memory.share',
    '(!this.#used().isWasm || memory === true)',
    '(!this.#used().isWasm || memory === true || copy === false)',
  ),
  mistake(
    'gives a consumer that follows a memory only its buffer',
    'p.memory.follow',
    'data: this.#memory.data,',
    'data: this.#memory.isWasm ? this.#memory.data.buffer : this.#memory.data,',
  ),
  // Consumer
  mistake(
    'recognises buffers by their class',
    'c.realm',
    '    const length = attempt(getter, data);',
    '    const length = data instanceof ArrayBuffer ? attempt(getter, data) : undefined;',
  ),
  mistake(
    'calls the method without its object',
    'c.recognise.this',
    'Reflect.apply(method, producer,',
    'Reflect.apply(method, undefined,',
  ),
  mistake(
    'takes an object without fields for an empty tensor',
    'c.result.external',
    "  check(Object(managed) === managed, 'a managed tensor');\n",
    '  if (Object.keys(managed).length === 0) return PlainTensor.fromBytes(new Uint8Array(), [0], { code: 1, bits: 8, lanes: 1 });\n',
  ),
  mistake('takes any version', 'c.bad.version.2', 'isVersion(version) && version[0] === 1', 'isVersion(version)'),
  mistake('takes a version of three numbers', 'c.bad.version.long', '&& value.length === 2 && isCount', '&& isCount'),
  mistake('takes a negative minor version', 'c.bad.version.negative', '&& isCount(value[1]);', '&& value[1] < 99;'),
  mistake(
    'asks by the name of Python first',
    'c.recognise.symbolFirst',
    "const method = producer?.[Symbol.for('dlpack')];",
    "const method = producer?.__dlpack__ ?? producer?.[Symbol.for('dlpack')];",
  ),
  mistake(
    'reads packed rows as if nothing were between them',
    'c.layout.i4.rows',
    'copyBits(from, firstBit + place * width, to, i * width, width);',
    'copyBits(from, firstBit + (width < 8 ? i : place) * width, to, i * width, width);',
  ),
  mistake(
    'reads the first byte of packed elements only',
    'c.layout.i4.flip',
    'const at = Math.floor((toBit + i) / 8);',
    'const at = Math.ceil((toBit + i) / 8);',
  ),
  mistake(
    'knows memories of its own realm only',
    'c.memory.realm',
    'attempt(memoryGetter, data) !== undefined;',
    'data instanceof WebAssembly.Memory;',
  ),
  mistake(
    'exports a memory to a consumer that does not follow it',
    'c.memory.reexport',
    '(!this.#used().isWasm || memory === true)',
    'true',
  ),
  mistake(
    'shares a memory that moves although copies are forbidden',
    'c.memory.reexport.share',
    '(!this.#used().isWasm || memory === true)',
    '(!this.#used().isWasm || memory === true || copy === false)',
  ),
  mistake(
    'reads memory that shrank as if it were shorter',
    'c.buffer.shrunk',
    'return new Uint8Array(this.#buffer(), 0, this.nbytes);',
    'return new Uint8Array(this.#buffer());',
  ),
  mistake(
    'reads the fields of another version',
    'c.version.unread',
    'const { version } = managed;',
    'const { version, flags: early } = managed;',
  ),
  mistake(
    'reads a field twice',
    'c.read.once',
    'const { data, byteOffset } = managed;',
    'const { data, byteOffset, flags: again } = managed;',
  ),
  mistake('takes any flags', 'c.bad.flags.negative', 'isCount(flags) ||', 'Number.isInteger(flags) ||'),
  mistake('forgets elements before the buffer', 'c.bad.strides.before', 'return start >= 0n && end', 'return end'),
  mistake('forgets the last element', 'c.bad.data.short', '(highest + 1n)', 'highest'),
  mistake('counts no offset', 'c.bad.byteOffset.outside', 'firstBit: byteOffset * 8 }', 'firstBit: 0 }'),
  mistake('skips the holes of an array', 'c.bad.shape.hole', 'return Array.from(array);', 'return array;'),
  mistake(
    'takes unknown types',
    'c.bad.dtype.code',
    'isCount(code) && WIDTHS[code]?.includes(bits)',
    'isCount(code) && isCount(bits)',
  ),
  mistake('takes buffers of other devices', 'c.bad.device.cuda', 'HOST_TYPES.includes(type)', 'isCount(type)'),
  mistake(
    'leaks what it refuses',
    'c.bad.data.null',
    '    try {\n      release();\n    } catch {}',
    '    try {\n    } catch {}',
  ),
  mistake(
    'releases twice',
    'c.release.once',
    '    deleter.call(managed);\n  };',
    '    deleter.call(managed);\n    deleter.call(managed);\n  };',
  ),
  mistake(
    'frees memory that an export uses',
    'c.reexport.order',
    'if (--this.#users === 0) this.#free();',
    'this.#free();',
  ),
  mistake('never releases', 'c.values', 'if (--this.#users === 0) this.#free();', 'this.#users--;'),
  mistake('never records what it consumed', 'c.once.recorded', '  set.add(managed);\n', ''),
  mistake(
    'consumes twice',
    'c.once.refused',
    "  check(!set.has(managed), 'a managed tensor that was not consumed before');\n",
    '',
  ),
  mistake(
    'refuses a cached answer',
    'c.once.cached',
    'if (deleter !== null) recordConsumed(managed);',
    'recordConsumed(managed);',
  ),
  mistake(
    'takes a copy without a deleter twice',
    'c.once.copied',
    '  if (has(IS_COPIED) && !isRecorded) recordConsumed(managed);\n',
    '',
  ),
  mistake(
    'trusts whatever it finds in place of the set',
    'c.set.garbage',
    '=== undefined ? ownSet : found',
    '=== null ? ownSet : found',
  ),
  mistake('deletes without a receiver', 'c.deleter.this', '    deleter.call(managed);\n  };', '    deleter();\n  };'),
  mistake(
    'calls the deleter later than it could',
    'c.deleter.sync',
    '    deleter.call(managed);\n  };',
    '    setTimeout(() => deleter.call(managed));\n  };',
  ),
  mistake(
    'hides its error behind that of the deleter',
    'c.deleter.masks',
    '    try {\n      release();\n    } catch {} // the first error counts (5.2)\n',
    '    release();\n',
  ),
  mistake(
    'wraps errors of the producer',
    'c.error.unchanged',
    'const managed = Reflect.apply(method, producer, [{ maxVersion: [1, 3], copy, device, memory: true }]);',
    "let managed; try { managed = Reflect.apply(method, producer, [{ copy, device, memory: true }]); } catch { check(false, 'a producer that works'); }",
  ),
  mistake(
    'writes to read-only memory',
    'c.readonly',
    "    check(!this.isReadOnly, 'memory that may be written');\n",
    '',
  ),
  mistake('shares although a copy was asked for', 'c.copy.true.unmarked', '|| (copy === true && !isCopied)', ''),
  mistake('takes a copy although none was allowed', 'c.copy.false.marked', 'copy !== false || !has(IS_COPIED)', 'true'),
  mistake(
    'takes a tensor on another device',
    'c.device.checked',
    'requested === null || requested.type === type',
    'true',
  ),
  mistake('uses misaligned elements in place', 'c.align.refuses', '!isAligned(layout) ||', ''),
  mistake(
    'keeps an array over a memory that grew',
    'c.memory.grows',
    'return this.isWasm ? memoryGetter.call(this.data) : this.data;',
    'this.first ??= this.isWasm ? memoryGetter.call(this.data) : this.data;\n    return this.first;',
  ),
  mistake(
    'passes IS_COPIED on',
    'c.reexport.copied',
    'flags: Number((this.isReadOnly',
    'flags: Number(IS_COPIED | (this.isReadOnly',
  ),
  mistake(
    'drops READ_ONLY of what it took',
    'c.reexport.readonly',
    'isReadOnly: has(READ_ONLY),',
    'isReadOnly: false,',
  ),
  mistake(
    'ends memory that its own export uses',
    'c.reexport.order',
    'const end = this.#memory.use();',
    'const end = () => {};',
  ),
  // Pairs: `plain` is the library as it is, `changed` the one with the mistake.
  mistake(
    'forgets the offset of a view',
    'x.changed.plain.view.broadcast.null',
    'byteOffset: firstBit / 8,',
    'byteOffset: 0,',
  ),
  mistake(
    'reads views without the sign of their strides',
    'x.plain.changed.view.flip.null',
    'sum + i * strides[axis]);',
    'sum + i * Math.abs(strides[axis]));',
  ),
  mistake('does not tell others what it consumed', 'x.twice.changed.plain', '  set.add(managed);\n', ''),
  mistake(
    'consumes what another consumed',
    'x.twice.plain.changed',
    "  check(!set.has(managed), 'a managed tensor that was not consumed before');\n",
    '',
  ),
  mistake('keeps what was collected', 'c.gc', '    collected.register(this, this.#end, this);\n', ''),
];
