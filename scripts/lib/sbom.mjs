// The list of the package's native components, in the format CycloneDX 1.6.
import { createHash } from 'node:crypto';

/** `files` are the packed addons: `{ path, bytes }`. The package has no dependencies, and no other compiled code. */
export function sbomOf({ name, version, license, description }, files) {
  const reference = `pkg:npm/${name}@${version}`;
  const components = files.map(({ path, bytes }) => ({
    type: 'library',
    'bom-ref': `${reference}#${path}`,
    name: path,
    version,
    hashes: [{ alg: 'SHA-256', content: createHash('sha256').update(bytes).digest('hex') }],
  }));
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: {
      component: {
        type: 'library',
        'bom-ref': reference,
        purl: reference,
        name,
        version,
        description,
        licenses: [{ license: { id: license } }],
      },
    },
    components,
    dependencies: [{ ref: reference, dependsOn: components.map((component) => component['bom-ref']) }],
  };
}
