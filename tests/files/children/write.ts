import { isDLPackError, Tensor } from 'dlpack';
import { writeSafetensors } from 'dlpack/files';

try {
  await writeSafetensors(process.argv[2] as string, { x: Tensor.zeros([40_000_000], 'uint8') });
  console.log('written');
} catch (error) {
  console.log(isDLPackError(error, 'FileError') ? `${error.tag} ${error.code}` : String(error));
}
