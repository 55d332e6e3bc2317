import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assessCompatibility, type DeviceProduct, type InstallableArtefact } from './compatibility.ts'

const firmware: InstallableArtefact = {
  id: 'new',
  name: 'Firmware',
  kind: 'firmware',
  manufacturer: 'Example AG',
  products: ['6ES7-1', 'CPU 1500'],
  version: 'V2.9',
}
const device: DeviceProduct = {
  manufacturer: 'EXAMPLE ag',
  productId: '6es7-1',
  hardwareVersion: '3',
  firmwareVersion: '2.8.3',
}

type Case = {
  title: string
  artefact?: Partial<InstallableArtefact>
  device?: Partial<DeviceProduct>
  allowsDowngrade?: boolean
  others?: InstallableArtefact[]
  outcome: string
  reason?: RegExp
  steps?: string[]
}

const step = { ...firmware, id: 'step', version: '2.8.5' }

const cases: Case[] = [
  { title: 'updates an older version of the product', outcome: 'update', steps: ['new'] },
  { title: 'finds the product by its name', device: { productId: 'X', productName: 'cpu 1500' }, outcome: 'update' },
  {
    title: 'refuses another manufacturer',
    device: { manufacturer: 'Other' },
    outcome: 'incompatible',
    reason: /Other/,
  },
  {
    title: 'refuses an unknown manufacturer',
    device: { manufacturer: undefined },
    outcome: 'incompatible',
    reason: /manufacturer of the asset is not known/,
  },
  { title: 'refuses another product', device: { productId: '6ES7-2' }, outcome: 'incompatible', reason: /6ES7-2/ },
  {
    title: 'refuses an unknown product',
    device: { productId: undefined },
    outcome: 'incompatible',
    reason: /product of the asset is not known/,
  },
  { title: 'accepts a listed hardware version', artefact: { hardwareVersions: ['2', 'V3.0'] }, outcome: 'update' },
  {
    title: 'refuses another hardware version',
    artefact: { hardwareVersions: ['2', '4'] },
    outcome: 'incompatible',
    reason: /hardware version 3/,
  },
  {
    title: 'refuses an unknown hardware version if the artefact lists some',
    artefact: { hardwareVersions: ['3'] },
    device: { hardwareVersion: undefined },
    outcome: 'incompatible',
    reason: /not known/,
  },
  { title: 'leaves the same version as it is', device: { firmwareVersion: '2.9.0' }, outcome: 'current' },
  {
    title: 'refuses an older version',
    device: { firmwareVersion: '3.0' },
    outcome: 'incompatible',
    reason: /3\.0 is newer than V2\.9/,
  },
  {
    title: 'installs an older version if downgrades are allowed',
    device: { firmwareVersion: '3.0' },
    allowsDowngrade: true,
    outcome: 'update',
  },
  { title: 'updates an unknown version if nothing is required', device: { firmwareVersion: '' }, outcome: 'update' },
  {
    title: 'refuses an unknown version if a version is required',
    artefact: { requires: [{ from: '>=2.8' }] },
    device: { firmwareVersion: undefined },
    outcome: 'incompatible',
    reason: /not known/,
  },
  {
    title: 'goes over another artefact',
    artefact: { requires: [{ from: '>=2.8.4' }] },
    others: [firmware, step, { ...step, id: 'other product', products: ['Y'], version: '2.8.8' }],
    outcome: 'update',
    steps: ['step', 'new'],
  },
  {
    title: 'refuses a version to which no artefacts lead',
    artefact: { requires: [{ from: '>=2.8.4' }] },
    others: [{ ...step, kind: 'software' }],
    outcome: 'incompatible',
    reason: />=2\.8\.4, and no other artefacts lead from version 2\.8\.3/,
  },
  { title: 'refuses a log file', artefact: { kind: 'logfile' }, outcome: 'incompatible', reason: /log file/ },
  {
    title: 'installs a configuration with any version on matching firmware',
    artefact: { kind: 'configuration', version: '1', requires: [{ from: '2.8.*' }] },
    outcome: 'update',
  },
  {
    title: 'refuses a configuration for other firmware',
    artefact: { kind: 'configuration', version: '1', requires: [{ from: '2.9.*' }] },
    outcome: 'incompatible',
  },
  {
    title: 'compares software with the component of its name',
    artefact: { kind: 'software', name: 'Runtime', version: '2.0' },
    device: {
      software: [
        { name: 'other', version: '9' },
        { name: 'runtime', version: '2.0' },
      ],
    },
    outcome: 'current',
  },
  {
    title: 'installs software that the device does not have',
    artefact: { kind: 'software', name: 'Runtime', version: '2.0' },
    device: { software: [] },
    outcome: 'update',
  },
]

for (const { title, artefact, device: changes, allowsDowngrade = false, others = [], ...expected } of cases) {
  test(title, () => {
    const result = assessCompatibility(
      { ...firmware, ...artefact },
      { ...device, ...changes },
      { allowsDowngrade, others },
    )
    assert.equal(result.outcome, expected.outcome, result.reason)
    if (expected.reason !== undefined) assert.match(result.reason ?? '', expected.reason)
    if (expected.steps !== undefined)
      assert.deepEqual(
        result.steps.map(({ artefactId }) => artefactId),
        expected.steps,
      )
    if (result.outcome !== 'update') assert.deepEqual(result.steps, [])
  })
}
