/** Waits for a device that does not exist, and for an event that the driver cannot create; ends by itself. */

import { loadDriver, Stream } from 'dlpack/cuda';
import { fake, fakeDriverPath } from '../fake.js';

loadDriver({ path: fakeDriverPath });
const report = (error: Error) => console.log(error.message);
await Stream.default('cuda:7').done().catch(report);
fake.failNext('cuEventCreate', 201);
await Stream.default().done().catch(report);
