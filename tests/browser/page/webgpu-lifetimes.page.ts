import '../../webgpu/lifetimes.js';
