import '../../webgpu/conformance.js';
