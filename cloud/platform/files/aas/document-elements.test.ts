import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { documentOf, elementOf } from './document-elements.ts'

describe('elements of a document', () => {
  test('return the same document, for random JSON', () => {
    const unit = fc.oneof(fc.constantFrom(...'"\\<&_\u0000\u0001\r\n\ufffe'), fc.string({ minLength: 1, maxLength: 1 }))
    const json = fc.jsonValue({ stringUnit: unit, maxDepth: 4 })
    fc.assert(
      fc.property(json, (value) => {
        const document = JSON.parse(JSON.stringify(value).toWellFormed())
        assert.deepEqual(documentOf(elementOf(document)), document)
      }),
      { numRuns: 100 },
    )
  })

  test('keep the order of members and names that are not valid as idShort', () => {
    const document = JSON.parse(
      '{"b":1,"a":[],"__proto__":{"x":null},"":true,"a b":-0.5,"constructor":"\\u0001","Member_3":"x"}',
    )
    const copy = documentOf(elementOf(document))
    assert.equal(JSON.stringify(copy), JSON.stringify(document))
    assert.equal(Object.getPrototypeOf(copy), Object.prototype)
  })

  test('name members and types as the metamodel requires', () => {
    assert.deepEqual(elementOf({ mac_address: 'x', ports: [{ id: 1 }], tags: ['a', 'b'] }, { idShort: 'Asset' }), {
      modelType: 'SubmodelElementCollection',
      idShort: 'Asset',
      value: [
        { modelType: 'Property', idShort: 'mac_address', valueType: 'xs:string', value: 'x' },
        {
          modelType: 'SubmodelElementList',
          idShort: 'ports',
          orderRelevant: true,
          typeValueListElement: 'SubmodelElementCollection',
          value: [
            {
              modelType: 'SubmodelElementCollection',
              value: [{ modelType: 'Property', idShort: 'id', valueType: 'xs:integer', value: '1' }],
            },
          ],
        },
        {
          modelType: 'SubmodelElementList',
          idShort: 'tags',
          orderRelevant: true,
          typeValueListElement: 'Property',
          valueTypeListElement: 'xs:string',
          value: [
            { modelType: 'Property', valueType: 'xs:string', value: 'a' },
            { modelType: 'Property', valueType: 'xs:string', value: 'b' },
          ],
        },
      ],
    })
  })

  test('ignore elements of other types and damaged values', () => {
    const element = {
      modelType: 'SubmodelElementCollection',
      value: [
        { modelType: 'File', idShort: 'Picture', value: '/a.png' },
        { modelType: 'Property', idShort: 'Count', valueType: 'xs:integer', value: 'many' },
        { modelType: 'Property', idShort: 'Member_0', extensions: [{ name: 'MemberName', value: '{' }], value: 'x' },
        null,
      ],
    }
    assert.deepEqual(documentOf(element), { Count: 'many' })
  })
})
