/** The smallest models of TensorFlow Lite: one operator, as bytes of its FlatBuffer, so that no tool is needed to make them. */

/** A number in place, or a function that writes something behind the reference to it and returns its position. */
type Field = number | ((out: Output) => number);

class Output {
  private readonly view = new DataView(new ArrayBuffer(2048));
  private end = 0;

  /** Room at a multiple of four. */
  reserve(nbytes: number): number {
    const at = this.end;
    this.end += Math.ceil(nbytes / 4) * 4;
    return at;
  }

  /** Offsets count from the place of the reference, and point forward. */
  put(at: number, field: Field): void {
    this.view.setInt32(at, typeof field === 'number' ? field : field(this) - at, true);
  }

  text(at: number, text: string): void {
    for (let i = 0; i < text.length; i++) this.view.setUint8(at + i, text.charCodeAt(i));
  }

  /** Every field takes four bytes: a reader of a shorter number finds it in the first of them. */
  table(fields: readonly (Field | null)[]): number {
    const index = this.reserve(4 + 2 * fields.length);
    const table = this.reserve(4 + 4 * fields.length);
    this.view.setUint16(index, 4 + 2 * fields.length, true);
    this.view.setUint16(index + 2, 4 + 4 * fields.length, true);
    this.view.setInt32(table, table - index, true);
    fields.forEach((field, i) => {
      if (field === null) return;
      this.view.setUint16(index + 4 + 2 * i, 4 + 4 * i, true);
      this.put(table + 4 + 4 * i, field);
    });
    return table;
  }

  bytes(): Uint8Array<ArrayBuffer> {
    return new Uint8Array(this.view.buffer, 0, this.end).slice();
  }
}

const table =
  (...fields: (Field | null)[]): Field =>
  (out) =>
    out.table(fields);

const vector =
  (...items: Field[]): Field =>
  (out) => {
    const at = out.reserve(4 + 4 * items.length);
    out.put(at, items.length);
    items.forEach((item, i) => {
      out.put(at + 4 + 4 * i, item);
    });
    return at;
  };

const string =
  (text: string): Field =>
  (out) => {
    const at = out.reserve(4 + text.length + 1);
    out.put(at, text.length);
    out.text(at + 4, text);
    return at;
  };

const MUL = 18;
const MUL_OPTIONS = 21;

/** A model with the product of two `float32` tensors: `z = x * y`. */
export function makeProduct(shape: readonly number[]): Uint8Array<ArrayBuffer> {
  const tensor = (name: string) => table(vector(...shape), 0, 0, string(name)); // type 0 is float32, buffer 0 is empty
  const operator = table(0, vector(0, 1), vector(2), MUL_OPTIONS, table());
  const tensors = vector(tensor('x'), tensor('y'), tensor('z'));
  const graph = table(tensors, vector(0, 1), vector(2), vector(operator), string('main'));
  const code = table(MUL, null, 1, MUL);
  const out = new Output();
  const start = out.reserve(8);
  out.text(start + 4, 'TFL3');
  out.put(start, table(3, vector(code), vector(graph), string('product'), vector(table())));
  return out.bytes();
}
