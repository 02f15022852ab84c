/**
 * Buffers that tensors have released and textures that copies have used, kept for the next use with the same size. On a
 * software adapter, making a buffer of 16 MiB takes ten times as long as a copy into it.
 */

/** A GPUBuffer or a GPUTexture. */
interface Resource {
  destroy(): void;
}

interface Spare {
  readonly kind: string;
  readonly nbytes: number;
  readonly resource: Resource;
}

/** Smaller resources are cheap to make. */
const SMALLEST = 2 ** 16;
/** Bytes that are kept for a device. */
const MOST = 2 ** 26;

export class Spares {
  /** The oldest first. */
  private spares: Spare[] = [];
  private nbytes = 0;
  private isClosed = false;

  /** A spare resource of this kind and exactly this size, with arbitrary contents, or null. */
  take<R extends Resource>(kind: string, nbytes: number): R | null {
    const index = this.spares.findIndex((spare) => spare.kind === kind && spare.nbytes === nbytes);
    if (index < 0) return null;
    this.nbytes -= nbytes;
    return this.spares.splice(index, 1)[0]?.resource as R;
  }

  /** Keeps a resource, or destroys it. The oldest ones make room for it. */
  add(kind: string, nbytes: number, resource: Resource): void {
    if (this.isClosed || nbytes < SMALLEST || nbytes > MOST) {
      resource.destroy();
      return;
    }
    this.spares.push({ kind, nbytes, resource });
    this.nbytes += nbytes;
    while (this.nbytes > MOST) {
      const oldest = this.spares.shift() as Spare;
      this.nbytes -= oldest.nbytes;
      oldest.resource.destroy();
    }
  }

  /** Keeps no more resources, because the device was lost. */
  close(): void {
    this.isClosed = true;
    this.clear();
  }

  clear(): void {
    for (const { resource } of this.spares) resource.destroy();
    this.spares = [];
    this.nbytes = 0;
  }
}
