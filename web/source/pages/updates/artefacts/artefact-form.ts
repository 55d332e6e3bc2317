import { type Artefact, type ArtefactKind, updateLimits } from '@millwright/api/updates.ts'

/** `ArtefactForm` contains the fields of an artefact as the user types them. Lists have one entry per line. */
export type ArtefactForm = {
  name: string
  kind: ArtefactKind
  manufacturer: string
  products: string
  version: string
  hardwareVersions: string
  requires: string
  releaseNotes: string
  signature: string
}

export type RequiredField = 'name' | 'manufacturer' | 'products' | 'version'

export const emptyArtefact: ArtefactForm = {
  name: '',
  kind: 'firmware',
  manufacturer: '',
  products: '',
  version: '',
  hardwareVersions: '',
  requires: '',
  releaseNotes: '',
  signature: '',
}

export function formOfArtefact(artefact: Artefact): ArtefactForm {
  return {
    ...emptyArtefact,
    name: artefact.name,
    kind: artefact.kind,
    manufacturer: artefact.manufacturer,
    products: artefact.products.join('\n'),
    version: artefact.version,
    hardwareVersions: (artefact.hardwareVersions ?? []).join('\n'),
    requires: (artefact.requires ?? []).flatMap(({ from }) => from ?? []).join('\n'),
    releaseNotes: artefact.releaseNotes ?? '',
  }
}

/** Returns the fields that are required and empty. */
export function missingFields(form: ArtefactForm): RequiredField[] {
  const required: RequiredField[] = ['name', 'manufacturer', 'products', 'version']
  return required.filter((field) => form[field].trim() === '')
}

/** Returns the fields of a new artefact. */
export function newArtefactOf(form: ArtefactForm) {
  const hardwareVersions = linesOf(form.hardwareVersions)
  const requires = requirementsOf(form.requires)
  return {
    name: form.name.trim(),
    kind: form.kind,
    manufacturer: form.manufacturer.trim(),
    version: form.version.trim(),
    products: linesOf(form.products),
    ...(hardwareVersions.length > 0 && { hardwareVersions }),
    ...(requires.length > 0 && { requires }),
    ...(form.releaseNotes.trim() !== '' && { releaseNotes: form.releaseNotes.trim() }),
    ...(form.signature.trim() !== '' && { signature: form.signature }),
  }
}

/** Returns the changed description of an existing artefact. An empty list of hardware versions means all versions. */
export function artefactChangesOf(form: ArtefactForm) {
  const hardwareVersions = linesOf(form.hardwareVersions)
  return {
    name: form.name.trim(),
    products: linesOf(form.products),
    hardwareVersions: hardwareVersions.length === 0 ? null : hardwareVersions,
    requires: requirementsOf(form.requires),
    releaseNotes: form.releaseNotes.trim(),
  }
}

/** Returns the entries of a text with one entry per line, without empty lines and repetitions. */
export function linesOf(text: string): string[] {
  return [...new Set(text.split('\n').map((line) => line.trim()))].filter((line) => line !== '')
}

function requirementsOf(text: string): { from: string }[] {
  return linesOf(text).map((from) => ({ from }))
}

/** The versions in file names, such as `1.4.2`, `V2.8.3` or `20.11`. */
const versionInName = /(?:^|[^0-9A-Za-z])(V?\d+(?:\.\d+)+)/i

/** Suggests a name and a version from the name of a file. The suggested name does not contain the version. */
export function suggestionOf(fileName: string): Pick<ArtefactForm, 'name' | 'version'> {
  const base = fileName.replace(/\.[A-Za-z]\w{0,5}$/, '')
  const version = versionInName.exec(base)?.[1] ?? ''
  const rest = base.replace(version, '').replaceAll(/^[\s._-]+|[\s._-]+$/g, '')
  return { name: (rest === '' ? base : rest).slice(0, 128).trim(), version: version.slice(0, updateLimits.text) }
}
