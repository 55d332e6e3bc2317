import { status } from '@grpc/grpc-js'
import { baseSchemaUrl } from '@millwright/api/asset-schema.ts'
import { linkServices } from '@millwright/api/link-protocol.ts'
import { Code } from '@millwright/api/proto/generated/code_pb.js'
import { type Check, expect, NotApplicable, nameOf, type Subject } from './check.ts'
import { assetIdentifiersOf } from './device-values.ts'
import type { Findings } from './discover-checks.ts'

const { getPropertyValues, getSupportedProperties } = linkServices.deviceInfo.method
const strangeKey = 'no_device_has_this_one'

/** Returns the checks that read the first device of the discovery. */
export function propertyChecks(findingsOf: (subject: Subject) => Promise<Findings>): readonly Check[] {
  const deviceFor = async (subject: Subject) => {
    if ((await subject.statusOf(getSupportedProperties, {})) === status.UNIMPLEMENTED) {
      throw new NotApplicable('The link has no device info interface.')
    }
    const device = (await findingsOf(subject)).devices[0]
    if (device === undefined) throw new NotApplicable('No device was found.')
    const parameterJson = JSON.stringify({ asset_identifiers: assetIdentifiersOf(device) })
    return { target: { case: 'connectionParameterSet' as const, value: { schemaUri: baseSchemaUrl, parameterJson } } }
  }
  return [
    {
      sentence: 'The link reports the properties of a device',
      hint: 'GetSupportedProperties names at least one key, each once, with one type at most.',
      async run(subject) {
        const { properties } = await subject.ask(getSupportedProperties, { device: await deviceFor(subject) })
        expect(properties.length > 0, 'The list of properties is empty.')
        expect(
          properties.every(({ key }) => key.trim() !== ''),
          'A property has no key.',
        )
        expect(
          new Set(properties.map(({ key }) => key)).size === properties.length,
          'Two properties have the same key.',
        )
      },
    },
    {
      sentence: 'The link reads the properties of a device',
      hint: 'Each result of GetPropertyValues is a property with key and value, or an error with key and description.',
      async run(subject) {
        const { propertyResults } = await subject.ask(getPropertyValues, { device: await deviceFor(subject) })
        expect(propertyResults.length > 0, 'There are no results.')
        expect(
          propertyResults.some(({ result }) => result.case === 'property'),
          'No property could be read.',
        )
        for (const { result } of propertyResults) {
          expect(result.case !== undefined, 'A result is neither property nor error.')
          expect(result.value.key !== '', 'A result has no key.')
          if (result.case === 'error')
            expect(result.value.description !== '', `The error of ${result.value.key} has no description.`)
          else expect(result.value.value?.value.case !== undefined, `${result.value.key} has no value.`)
        }
      },
    },
    {
      sentence: 'The link returns one result for every requested key, also for an unknown key',
      hint: 'Return an error with INVALID_ARGUMENT for an unknown key.',
      async run(subject) {
        const device = await deviceFor(subject)
        const { propertyResults } = await subject.ask(getPropertyValues, { device, keys: ['name', strangeKey] })
        const keys = propertyResults.map(({ result }) => result.value?.key)
        expect(
          keys.join() === `name,${strangeKey}`,
          `The results have the keys ${keys.join(', ') || '(none)'} instead of name, ${strangeKey}.`,
        )
        const { result } = propertyResults[1] ?? {}
        expect(result?.case === 'error', 'A property that does not exist has a value.')
        expect(
          result.value.resultCode === Code.INVALID_ARGUMENT,
          `The error of the unknown key has the code ${Code[result.value.resultCode]}.`,
        )
      },
    },
    {
      sentence: 'The link rejects a read without a device',
      hint: 'Return INVALID_ARGUMENT when `device` is missing.',
      async run(subject) {
        await deviceFor(subject)
        const code = await subject.statusOf(getPropertyValues, {})
        expect(code === status.INVALID_ARGUMENT, `The link returned ${nameOf(code)}.`)
      },
    },
  ]
}
