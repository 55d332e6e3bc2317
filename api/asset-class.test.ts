import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assetClassOf } from './asset-class.ts'

test('derives the class of an asset from its type, its product and the tag of its name', () => {
  const cases = [
    [{ type: 'Gateway', name: 'L01-PLC01' }, 'gateway'],
    [{ type: 'SoftwareArtifact', product: 'Managed switch' }, 'software'],
    [{ type: 'Device', product: 'Managed switch 8 ports' }, 'switch'],
    [{ type: 'Device', family: 'SCALANCE XC-200' }, 'switch'],
    [{ type: 'Device', family: 'SIMATIC S7-1500', product: 'CPU 1515-2 PN' }, 'controller'],
    [{ type: 'Device', family: 'Kestrel I/O', product: 'Digital input 32x24 V' }, 'module'],
    [{ type: 'Device', product: 'Aurelia 7.5 kW' }, 'drive'],
    [{ type: 'Device', product: 'Photoelectric sensor', name: 'L01-PLC01' }, 'sensor'],
    [{ type: 'Device', product: 'Touch panel 12 inch' }, 'panel'],
    [{ type: 'Device', product: 'Kestrel 1515', name: 'AAR-PRESS-L01-C01-PLC01' }, 'controller'],
    [{ type: 'Device', family: 'Kestrel 1500', product: 'Kestrel 1515', name: 'PLC-010-1' }, 'controller'],
    [{ type: 'Device', name: 'hmi' }, 'panel'],
    [{ type: 'Device', name: 'Display of the radio' }, 'other'],
    [{ type: undefined }, 'other'],
  ] as const
  for (const [asset, expected] of cases) assert.equal(assetClassOf(asset), expected, JSON.stringify(asset))
})
