import '../../webgpu/copies.js';
