/** Gives this process a machine of two fake devices, once. */

import { loadDriver } from 'dlpack/cuda';
import { fake, fakeDriverPath, fakeMissing } from './fake.js';

if (fakeMissing === false) {
  fake.setDevices(2);
  loadDriver({ path: fakeDriverPath });
}
