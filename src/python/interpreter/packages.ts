/** Packages that have another name than the module in them. */
const packages: Readonly<Record<string, string>> = {
  attr: 'attrs',
  bs4: 'beautifulsoup4',
  Crypto: 'pycryptodome',
  cv2: 'opencv-python',
  dateutil: 'python-dateutil',
  dotenv: 'python-dotenv',
  faiss: 'faiss-cpu',
  fitz: 'pymupdf',
  PIL: 'pillow',
  serial: 'pyserial',
  skimage: 'scikit-image',
  sklearn: 'scikit-learn',
  tvm_ffi: 'apache-tvm-ffi',
  yaml: 'pyyaml',
};

/** The package that `pip install` needs for a module. */
export function packageOf(module: string): string {
  return Object.hasOwn(packages, module) ? (packages[module] as string) : module;
}
