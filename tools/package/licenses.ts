import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ThirdPartyPackage } from './dependency-closure.ts'
import { licenseFile } from './sources.ts'

/** `LicensedComponent` is a part of an archive that another project has made. */
export type LicensedComponent = {
  name: string
  version: string
  /** An SPDX license expression. */
  license: string
  /** The text of the license, with the copyright notices. */
  text: string
  /** The package URL, which names the component in an SBOM. */
  purl: string
  integrity?: string | undefined
}

/** Licenses that allow the distribution of a program in an archive under another license. */
const allowed = new Set([
  '0BSD',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'CC0-1.0',
  'ISC',
  'LicenseRef-liblzma',
  'LicenseRef-OSSP-uuid',
  'MIT',
  'OpenSSL',
  'PostgreSQL',
  'PSF-2.0',
  'Python-2.0',
  'Unicode-DFS-2016',
  'Unlicense',
  'Zlib',
])

/** Licenses of packages that name their license only in their documentation. */
const documentedLicenses: Readonly<Record<string, string>> = { precond: 'MIT' }

const textsFolder = join(import.meta.dirname, 'license-texts')

type Manifest = {
  license?: string | { type: string }
  licenses?: { type: string }[]
  author?: string | { name: string }
}

/** Returns the license of a package. Throws if the package names no license, or one that is not allowed. */
export function licensedPackage(root: string, { name, version, folder, integrity }: ThirdPartyPackage) {
  const path = join(root, folder)
  const manifest: Manifest = JSON.parse(readFileSync(join(path, 'package.json'), 'utf8'))
  const license = licenseOf(name, manifest)
  if (license === undefined || !isAllowed(license))
    throw new Error(
      `${name} ${version} has ${license === undefined ? 'no license' : `the license ${license}`}, which is not allowed in an archive: replace the package, or add its license to tools/package/licenses.ts after a review.`,
    )
  const files = readdirSync(path).filter((file) => licenseFile.test(file))
  const texts = files.toSorted().map((file) => readFileSync(join(path, file), 'utf8').trim())
  const text = texts.length > 0 ? texts.join('\n\n') : standardText(license, authorOf(manifest))
  return { name, version, license, text, purl: `pkg:npm/${encodeName(name)}@${version}`, integrity }
}

function licenseOf(name: string, { license, licenses }: Manifest): string | undefined {
  if (typeof license === 'string') return license
  return license?.type ?? licenses?.map(({ type }) => type).join(' OR ') ?? documentedLicenses[name]
}

/** Evaluates an SPDX expression of names, `AND`, `OR` and parentheses. */
export function isAllowed(expression: string): boolean {
  const plain = expression.replaceAll(/^\(|\)$/g, '')
  if (/[()]/.test(plain)) return false
  return plain.split(' OR ').some((option) => option.split(' AND ').every((name) => allowed.has(name.trim())))
}

function authorOf({ author }: Manifest): string | undefined {
  return typeof author === 'string' ? author.replace(/\s*[<(].*$/, '') : author?.name
}

/** Returns the standard texts of the licenses of a component that contains no license file. */
export function standardText(expression: string, holder = 'the authors'): string {
  const names = expression.replaceAll(/[()]/g, '').split(/ AND | OR /)
  return names.map((name) => readText(name).replace('<copyright holders>', holder)).join('\n\n')
}

function readText(name: string): string {
  const file = name === 'Apache-2.0' ? join(import.meta.dirname, '../../LICENSE') : join(textsFolder, `${name}.txt`)
  if (!existsSync(file)) throw new Error(`The text of the license ${name} is missing: add it to ${textsFolder}.`)
  return readFileSync(file, 'utf8').trim()
}

function encodeName(name: string): string {
  return name.replace('@', '%40')
}

/** Returns the file that reproduces the licenses of all components. */
export function noticesOf(product: string, components: readonly LicensedComponent[]): string {
  const head = `${product} contains the following components of other projects. The text of each license follows its component.\n`
  const line = '='.repeat(100)
  const parts = components.map(
    ({ name, version, license, text }) =>
      `${line}\n${name} ${version} (${license})\n${line}\n\n${text.replaceAll('\r\n', '\n')}\n`,
  )
  return [head, ...parts].join('\n')
}
