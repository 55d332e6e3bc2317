import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { Problem, type ProblemCode } from '@millwright/api/problem.ts'
import fc from 'fast-check'
import { jsonItems } from './aas/environment-json.ts'
import { aasxHeadings, isAasx, isEnvironment, readAasx, readEnvironment } from './aasx.ts'
import { ZipArchive } from './zip.ts'
import { type ZipEntry, zipParts } from './zip-writer.ts'

const folder = await mkdtemp(join(tmpdir(), 'millwright-aasx-'))
after(() => rm(folder, { recursive: true, force: true }))

const property = (idShort: string, value: string, code = 'x') => ({
  modelType: 'Property',
  idShort,
  semanticId: { type: 'ExternalReference', keys: [{ type: 'GlobalReference', value: code }] },
  valueType: 'xs:string',
  value,
})
const texts = (idShort: string, ...values: [string, string][]) => ({
  modelType: 'MultiLanguageProperty',
  idShort,
  value: values.map(([language, text]) => ({ language, text })),
})
const submodel = (id: string, semanticId: string, submodelElements: unknown[], more = {}) => ({
  modelType: 'Submodel',
  id,
  semanticId: { type: 'ModelReference', keys: [{ type: 'Submodel', value: semanticId }] },
  submodelElements,
  ...more,
})
const shell = (id: string, submodels: string[], more = {}, assetKind = 'Instance') => ({
  modelType: 'AssetAdministrationShell',
  idShort: id,
  id,
  assetInformation: { assetKind, globalAssetId: `urn:asset:${id}`, ...more },
  submodels: submodels.map((value) => ({ type: 'ModelReference', keys: [{ type: 'Submodel', value }] })),
})

describe('packages of other programs', () => {
  test('Digital Nameplate 1.0, 2.0 and 3.0 give manufacturer, product, serial number, order number and versions', async () => {
    const rows = await rowsOf({
      assetAdministrationShells: [
        { ...shell('first', ['n1']), description: [{ language: 'de', text: 'Erste' }] },
        {
          ...shell('second', ['n2']),
          displayName: [
            { language: 'de', text: 'Zwei' },
            { language: 'en-GB', text: 'Two' },
          ],
        },
        shell('third', ['n3', 'missing']),
      ],
      submodels: [
        submodel('n1', 'https://admin-shell.io/zvei/nameplate/1/0/Nameplate', [
          texts('ManufacturerName', ['de', 'Muster AG']),
          texts('ManufacturerProductDesignation', ['de', 'Pumpe'], ['en', 'Pump']),
          property('SerialNumber', 'S1'),
        ]),
        submodel('n2', 'https://admin-shell.io/zvei/nameplate/2/0/Nameplate', [
          texts('ManufacturerName', ['en', 'Acme']),
          texts('ManufacturerProductDesignation', ['en', 'Valve']),
          property('ProductArticleNumberOfManufacturer', 'A2'),
          property('SerialNumber', 'S2'),
          property('HardwareVersion', 'H2'),
          property('FirmwareVersion', 'F2'),
        ]),
        submodel('n3', 'https://admin-shell.io/idta/nameplate/3/0/Nameplate', [
          property('Hersteller', 'By code', '0112/2///61987#ABA565#009'),
          property('OrderCodeOfManufacturer', 'O3'),
          property('ProductArticleNumberOfManufacturer', 'A3'),
          property('Nummer', 'S3', '0173-1#02-AAM556#002'),
        ]),
      ],
    })
    assert.deepEqual(aasxHeadings, [
      'Name',
      'Description',
      'Manufacturer',
      'Product',
      'Order number',
      'Serial number',
      'Hardware version',
      'Firmware version',
      'MAC address',
    ])
    assert.deepEqual(rows, [
      { row: 1, cells: ['first', 'Erste', 'Muster AG', 'Pump', '', 'S1', '', '', ''] },
      { row: 2, cells: ['Two', '', 'Acme', 'Valve', 'A2', 'S2', 'H2', 'F2', ''] },
      { row: 3, cells: ['third', '', 'By code', '', 'O3', 'S3', '', '', ''] },
    ])
  })

  test('Technical Data and specific asset ids are used if there is no nameplate', async () => {
    const specificAssetIds = [
      { name: 'MAC address', value: '02:00:00:00:00:01' },
      { name: 'serialNumber', value: 'S1' },
    ]
    const general = {
      modelType: 'SubmodelElementCollection',
      idShort: 'GeneralInformation',
      value: [property('ManufacturerName', 'Acme'), property('ManufacturerOrderCode', 'O1')],
    }
    const rows = await rowsOf({
      // The submodels come first.
      submodels: [
        submodel('t', 'https://admin-shell.io/ZVEI/TechnicalData/Submodel/1/2', [general]),
        submodel('s', 'https://admin-shell.io/idta/SoftwareNameplate/1/0', [property('ManufacturerName', 'Other')]),
        submodel('x', 'https://admin-shell.io/idta/nameplate/3/0/Nameplate', [property('SerialNumber', 'none')], {
          kind: 'Template',
        }),
      ],
      assetAdministrationShells: [shell('one', ['t', 's', 'x'], { specificAssetIds })],
    })
    assert.deepEqual(rows, [{ row: 1, cells: ['one', '', 'Acme', '', 'O1', 'S1', '', '', '02:00:00:00:00:01'] }])
  })

  test('a nameplate in an environment of version 2 is read', async () => {
    const semanticId = (value: string) =>
      `<semanticId><keys><key type="ConceptDescription">${value}</key></keys></semanticId>`
    const rows = await readParts(
      packageParts(`<?xml version="1.0"?>
        <aasenv xmlns="http://www.admin-shell.io/aas/2/0">
          <assetAdministrationShells><assetAdministrationShell>
            <idShort>Pump</idShort><identification idType="IRI">urn:shell</identification><assetRef><keys /></assetRef>
            <submodelRefs><submodelRef><keys><key type="Submodel" idType="IRI">urn:nameplate</key></keys></submodelRef></submodelRefs>
          </assetAdministrationShell></assetAdministrationShells>
          <assets><asset><idShort>ignored</idShort></asset></assets>
          <submodels><submodel>
            <idShort>Nameplate</idShort><identification idType="IRI">urn:nameplate</identification><kind>Instance</kind>
            ${semanticId('https://admin-shell.io/zvei/nameplate/2/0/Nameplate')}<qualifier />
            <submodelElements>
              <submodelElement><multiLanguageProperty><idShort>ManufacturerName</idShort><value>
                <langString lang="de">Muster AG</langString><langString lang="en">Sample</langString></value></multiLanguageProperty></submodelElement>
              <submodelElement><property><idShort>Number</idShort>${semanticId('0173-1#02-AAM556#002')}
                <valueType>string</valueType><value>S1</value></property></submodelElement>
            </submodelElements>
          </submodel></submodels>
        </aasenv>`),
    )
    assert.deepEqual(rows, [{ row: 1, cells: ['Pump', '', 'Sample', '', '', 'S1', '', '', ''] }])
  })

  test('an environment without a package is recognised and read', async () => {
    const json = JSON.stringify({ assetAdministrationShells: [shell('one', [])] }, null, 2)
    const xml = `<?xml version="1.0"?>\n<!-- saved -->\n<aas:environment xmlns:aas="https://admin-shell.io/aas/3/1">
      <aas:assetAdministrationShells><aas:assetAdministrationShell><aas:idShort>one</aas:idShort>
      </aas:assetAdministrationShell></aas:assetAdministrationShells></aas:environment>`
    for (const text of [json, xml]) {
      assert.equal(isEnvironment(text), true)
      const rows = await Array.fromAsync(readEnvironment(streamOf(['\ufeff', ' ', text])))
      assert.deepEqual(rows, [{ row: 1, cells: ['one', '', '', '', '', '', '', '', ''] }])
    }
    for (const text of ['{"name":"submodels"}', '<html>', 'Name;submodels', '{"submodels":1}'])
      assert.equal(isEnvironment(text), false)
  })

  test('shells of types are left out, and a package of types has no rows', async () => {
    const type = shell('type', [], {}, 'Type')
    const rows = await rowsOf({ assetAdministrationShells: [type, shell('one', [])] })
    assert.deepEqual(rows, [{ row: 1, cells: ['one', '', '', '', '', '', '', '', ''] }])
    await assertRefused('file_without_rows', { assetAdministrationShells: [type] })
    await assertRefused('file_without_rows', {})
  })

  test('the parts of a JSON environment do not depend on the limits of the chunks', async () => {
    const environment = {
      'a "submodels"': [[1]],
      assetAdministrationShells: [{ id: 'a,]}"\\', list: [{}, [], ' { '] }],
      conceptDescriptions: [{ submodels: [{ no: 1 }] }],
      submodels: [{ id: 1 }, {}, { id: '\u{1f600}\u2028' }],
    }
    const text = JSON.stringify(environment, null, 1)
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat({ max: text.length }), { maxLength: 20 }), async (cuts) => {
        const places = [0, ...cuts.toSorted((a, b) => a - b), text.length]
        const chunks = places.slice(1).map((end, index) => text.slice(places[index], end))
        const items = await Array.fromAsync(jsonItems(streamOf(chunks)))
        assert.deepEqual(
          items.map(({ list, value }) => [list, value]),
          [
            ...environment.assetAdministrationShells.map((value) => ['assetAdministrationShells', value]),
            ...environment.submodels.map((value) => ['submodels', value]),
          ],
        )
      }),
      { numRuns: 200 },
    )
  })
})

describe('hostile packages', () => {
  test('a package without an environment, or with an environment in an old version, is not supported', async () => {
    await assertPartsRefused('unsupported_file', [{ name: 'a.txt', content: ['x'] }])
    await assertPartsRefused('unsupported_file', [
      { name: '_rels/.rels', content: [relationships('aasx-origin', '/o')] },
    ])
    const old = '<aas:aasenv xmlns:aas="http://www.admin-shell.io/aas/0/9"></aas:aasenv>'
    await assertRefused('unsupported_file', old, /version 2 or 3/)
    await assertRefused('unsupported_file', '<environment xmlns="https://example.com/"/>')
  })

  test('links to other files and folders are refused', async () => {
    for (const target of ['https://example.com/a.json', 'file://server/share/a.json', '//server/a.json'])
      await assertPartsRefused('file_with_external_links', packageParts('{}', target))
    const mode = packageParts('{}', '/aasx/a" TargetMode="External')
    await assertPartsRefused('file_with_external_links', mode)
    await assertPartsRefused('damaged_file', packageParts('{}', '/../../etc/passwd'))
    await assertPartsRefused('damaged_file', packageParts('{}', '%E0%A4%A'))
  })

  test('definitions of entities are refused', async () => {
    const entities = '<!DOCTYPE environment [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>'
    await assertRefused(
      'damaged_file',
      `${entities}<environment xmlns="https://admin-shell.io/aas/3/0">&b;</environment>`,
    )
  })

  test('damaged environments are refused', async () => {
    const root = '<environment xmlns="https://admin-shell.io/aas/3/0">'
    const texts = [
      '',
      ' ',
      '[]',
      '"x"',
      'null',
      '{"submodels":[',
      '{"submodels":[}]}',
      '{"submodels":[1]}',
      '{"submodels":[{]}',
      '{}{}',
      '{}]',
      root,
      `${root}</environmen>`,
      `${root}<submodels></environment></submodels>`,
      `${root}<submodels><submodel></submodels></submodel></environment>`,
      `${root}</environment>${root}</environment>`,
    ]
    for (const text of texts) await assertRefused('damaged_file', text)
  })

  test('environments beyond the limits are refused', async () => {
    const deep = (count: number) => `{"submodels":[${'['.repeat(count)}${']'.repeat(count)}]}`
    await assertRefused('file_too_large', deep(1_000))
    const root = '<environment xmlns="https://admin-shell.io/aas/3/0"><submodels><submodel>'
    await assertRefused('file_too_large', root + '<value>'.repeat(1_000))
    await assertRefused('file_too_large', root + '<a></a>'.repeat(140_000))
    await assertRefused('file_too_large', `{"submodels":["${'x'.repeat(17 * 1024 * 1024)}"]}`)
  })

  test('a value that is too long for a cell is refused', async () => {
    const assetAdministrationShells = [
      { ...shell('one', []), description: [{ language: 'en', text: 'x'.repeat(10_000) }] },
    ]
    await assertRefused('file_too_large', { assetAdministrationShells }, /Shell 1/)
  })

  test('wrong types in an environment do not stop the reader', async () => {
    const anything = fc.jsonValue({ maxDepth: 2 })
    const odd = (fields: string[]) =>
      fc.record(Object.fromEntries(fields.map((name) => [name, anything])), { requiredKeys: [], noNullPrototype: true })
    const shellValue = odd(['id', 'assetInformation', 'displayName', 'submodels', 'idShort'])
    const submodelValue = fc
      .tuple(odd(['semanticId', 'submodelElements', 'kind']), fc.constantFrom('a', 'b', 'c'))
      .map(([fields, id]) => ({ ...fields, id, idShort: 'TechnicalData' }))
    await fc.assert(
      fc.asyncProperty(fc.array(shellValue), fc.array(submodelValue), async (assetAdministrationShells, submodels) => {
        const instances = [...assetAdministrationShells, shell('one', ['a', 'b', 'c'])]
        const rows = await rowsOf({ assetAdministrationShells: instances, submodels })
        assert.ok(rows.length > 0)
      }),
      { numRuns: 50 },
    )
  })
})

function relationships(type: string, target: string): string {
  const attributes = `Id="R1" Type="http://admin-shell.io/aasx/relationships/${type}" Target="${target}"`
  return `<Relationships><Relationship ${attributes}/></Relationships>`
}

function packageParts(environment: string, target = '/aasx/environment'): ZipEntry[] {
  return [
    { name: '_rels/.rels', content: [relationships('aasx-origin', '/aasx/origin')] },
    { name: 'aasx/_rels/origin.rels', content: [relationships('aas-spec', target)] },
    { name: 'aasx/environment', content: [environment] },
  ]
}

async function archiveOf(parts: ZipEntry[]): Promise<ZipArchive> {
  const path = join(folder, 'package.aasx')
  await writeFile(path, Buffer.concat(await Array.fromAsync(zipParts(parts))))
  return ZipArchive.open(path, { entries: 10, unpackedBytes: 100_000_000 })
}

async function readParts(parts: ZipEntry[]) {
  const archive = await archiveOf(parts)
  try {
    return await Array.fromAsync(readAasx(archive))
  } finally {
    archive.close()
  }
}

async function rowsOf(environment: object) {
  const archive = await archiveOf(packageParts(JSON.stringify(environment)))
  try {
    assert.equal(await isAasx(archive), true)
    return await Array.fromAsync(readAasx(archive))
  } finally {
    archive.close()
  }
}

async function assertPartsRefused(code: ProblemCode, parts: ZipEntry[], detail = /\./): Promise<void> {
  await assert.rejects(readParts(parts), (error) => {
    assert.ok(error instanceof Problem, String(error))
    assert.equal(error.code, code, error.message)
    assert.match(`${error.message}.`, detail)
    return true
  })
}

async function assertRefused(code: ProblemCode, environment: object | string, detail?: RegExp): Promise<void> {
  const text = typeof environment === 'string' ? environment : JSON.stringify(environment)
  await assertPartsRefused(code, packageParts(text), detail)
}

async function* streamOf<Item>(items: Iterable<Item>): AsyncGenerator<Item> {
  yield* items
}
