import assert from 'node:assert/strict'
import { test } from 'node:test'
import { emptyArtefact, missingFields, newArtefactOf, suggestionOf } from './artefact-form.ts'

const form = {
  ...emptyArtefact,
  name: ' CPU firmware ',
  manufacturer: 'Acme',
  products: 'A1\n\n A2 \nA1',
  version: '2.0',
}

test('reads lists with one entry per line, without repetitions', () => {
  assert.deepEqual(newArtefactOf({ ...form, requires: '>=1.0 <2.0\n1.8.*', hardwareVersions: ' 3 ' }), {
    name: 'CPU firmware',
    kind: 'firmware',
    manufacturer: 'Acme',
    version: '2.0',
    products: ['A1', 'A2'],
    hardwareVersions: ['3'],
    requires: [{ from: '>=1.0 <2.0' }, { from: '1.8.*' }],
  })
})

test('leaves out optional fields that are empty', () => {
  assert.deepEqual(Object.keys(newArtefactOf(form)).toSorted(), ['kind', 'manufacturer', 'name', 'products', 'version'])
})

test('names the required fields that are empty', () => {
  assert.deepEqual(missingFields(form), [])
  assert.deepEqual(missingFields({ ...form, version: ' ', products: '\n' }), ['products', 'version'])
})

test('suggests a name and a version from the name of a file', () => {
  assert.deepEqual(suggestionOf('cpu1515_V2.8.3.upd'), { name: 'cpu1515', version: 'V2.8.3' })
  assert.deepEqual(suggestionOf('switch-20.11.bin'), { name: 'switch', version: '20.11' })
  assert.deepEqual(suggestionOf('backup.zip'), { name: 'backup', version: '' })
})
