import { createHash } from 'node:crypto'
import { Enums, Models, Serialize, Spec } from '@cyclonedx/cyclonedx-library'
import type { LicensedComponent } from './licenses.ts'

type SbomOptions = { name: string; version: string; time: number; components: readonly LicensedComponent[] }

/**
 * Returns a software bill of materials in the format CycloneDX 1.6. The same components give the same text: the serial
 * number is derived from the components, and the time is that of the release.
 */
export function sbomOf({ name, version, time, components }: SbomOptions): string {
  const product = new Models.Component(Enums.ComponentType.Application, name, {
    version,
    bomRef: `${name}@${version}`,
    purl: `pkg:generic/${name}@${version}`,
    licenses: new Models.LicenseRepository([new Models.SpdxLicense('Apache-2.0')]),
  })
  const parts = components.map(
    (component) =>
      new Models.Component(Enums.ComponentType.Library, component.name, {
        version: component.version,
        bomRef: component.purl,
        purl: component.purl,
        licenses: new Models.LicenseRepository([licenseOf(component.license)]),
        hashes: new Models.HashDictionary(hashesOf(component.integrity)),
      }),
  )
  product.dependencies = new Models.BomRefRepository(parts.map(({ bomRef }) => bomRef))
  const bom = new Models.Bom({
    serialNumber: serialNumber([`${name}@${version}`, ...components.map(({ purl }) => purl)]),
    metadata: new Models.Metadata({ component: product, timestamp: new Date(time * 1_000) }),
    components: new Models.ComponentRepository(parts),
  })
  const serializer = new Serialize.JsonSerializer(new Serialize.JSON.Normalize.Factory(Spec.Spec1dot6))
  return `${serializer.serialize(bom, { sortLists: true, space: 2 })}\n`
}

function licenseOf(expression: string): Models.License {
  if (expression.startsWith('LicenseRef-')) return new Models.NamedLicense(expression)
  return / /.test(expression) ? new Models.LicenseExpression(expression) : new Models.SpdxLicense(expression)
}

/** Converts the integrity of a lock file, such as `sha512-…`, to the hash of an SBOM. */
function hashesOf(integrity: string | undefined): [Enums.HashAlgorithm, string][] {
  const hash = /^sha512-(.+)$/.exec(integrity ?? '')?.[1]
  return hash === undefined ? [] : [[Enums.HashAlgorithm['SHA-512'], Buffer.from(hash, 'base64').toString('hex')]]
}

/** Returns a UUID of version 8, whose bits are those of a hash. */
function serialNumber(names: readonly string[]): string {
  const hex = createHash('sha256').update(names.toSorted().join('\n')).digest('hex')
  const uuid = [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20, 32)]
  return `urn:uuid:${uuid.join('-')}`
}
