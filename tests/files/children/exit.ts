import { openSafetensorsSync } from 'dlpack/files';

const file = openSafetensorsSync(process.argv[2] as string);
(globalThis as { kept?: unknown }).kept = [file, ...[...file].map(([, tensor]) => tensor.unsafeData())];
