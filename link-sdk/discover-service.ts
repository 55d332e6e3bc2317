import { once } from 'node:events'
import type { MessageInitShape } from '@bufbuild/protobuf'
import { create, toBinary } from '@bufbuild/protobuf'
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
import type { ServerWritableStream } from '@grpc/grpc-js'
import { baseSchemaUrl } from '@millwright/api/asset-schema.ts'
import { linkServices, progressMetadataKey, ticksOf, wireService } from '@millwright/api/link-protocol.ts'
import type { DestinationSchema } from '@millwright/api/proto/generated/address_pb.js'
import {
  DiscoveredDeviceSchema,
  type DiscoverRequest,
  DiscoverResponseSchema,
} from '@millwright/api/proto/generated/discover_pb.js'
import type { SupportedFilterSchema } from '@millwright/api/proto/generated/filters_pb.js'
import { variantOfType, variantTypeOf } from '@millwright/api/variant.ts'
import { inBatches } from './batches.ts'
import type { Address, Found, LinkDefinition } from './define-link.ts'
import { writeIdentifiers } from './device-identifiers.ts'
import { LinkError, linkErrorOf, statusOf } from './link-error.ts'
import type { Log } from './log.ts'
import type { Parameter } from './manifest.ts'
import { readFilters, readOptions } from './parameters.ts'
import { targetOf } from './target.ts'
import { answer, type ServedService, signalOf } from './unary.ts'

/** Under what a receiver takes by default, 4 MiB. */
const largestMessageBytes = 3 * 1024 * 1024
const batch = { items: 100, bytes: 256 * 1024 } as const

type Context = { log: Log; stopping: AbortSignal }
type Stream = ServerWritableStream<DiscoverRequest, Buffer>

/** Finding devices. All vendors' names of it share one count of discoveries under way. */
export function discoverService({ manifest, discover }: LinkDefinition, { log, stopping }: Context): ServedService {
  let underWay = 0

  async function discoverDevices(stream: Stream): Promise<void> {
    const signal = AbortSignal.any([signalOf(stream), stopping])
    const filters = readFilters(stream.request.filters, manifest.filters)
    const options = readOptions(stream.request.options, manifest.options)
    const targets = stream.request.target.map(targetOf)
    if (underWay >= (manifest.discoveriesAtOnce ?? 1)) {
      throw new LinkError('RESOURCE_EXHAUSTED', 'A discovery is under way: try again when it has ended.')
    }
    underWay += 1
    const startedAt = performance.now()
    log.info('A discovery begins.', { filters, options, targets: targets.length })
    try {
      const found = discover({ filters, options, targets, progress: progressWriter(stream), signal, log })
      const { devices, errors } = await send(found, { stream, signal, log })
      log.info('A discovery ends.', { devices, errors, milliseconds: Math.round(performance.now() - startedAt) })
    } finally {
      underWay -= 1
    }
  }

  return {
    service: linkServices.discover,
    definition: (name) => {
      const methods = wireService(linkServices.discover, name)
      return {
        ...methods,
        discoverDevices: { ...methods.discoverDevices, responseSerialize: (bytes: Buffer) => bytes },
      }
    },
    implementation: {
      getFilterTypes: answer(() => ({ filterTypes: (manifest.filters ?? []).map(supported) }), log),
      getFilterOptions: answer(() => ({ filterOptions: (manifest.options ?? []).map(supported) }), log),
      discoverDevices: (stream: Stream) => {
        discoverDevices(stream).then(
          () => stream.end(),
          (error: unknown) => fail(stream, { error, log, stopping }),
        )
      },
    },
  }
}

function fail(stream: Stream, { error, log, stopping }: Context & { error: unknown }): void {
  if (stream.cancelled) return void log.info('A discovery was canceled.')
  const reason = stopping.aborted ? new LinkError('UNAVAILABLE', 'The link stops.') : error
  if (!(reason instanceof LinkError)) log.error('A discovery failed.', { error })
  stream.emit('error', statusOf(reason))
}

function supported({
  key,
  type,
  mandatory,
  description,
  ...rest
}: Parameter): MessageInitShape<typeof SupportedFilterSchema> {
  const datatype = variantTypeOf(type)
  const defaultValue = rest.default === undefined ? undefined : variantOfType(datatype, rest.default)
  return {
    key,
    datatype,
    description,
    mandatory: mandatory ?? false,
    ...(defaultValue === undefined ? {} : { defaultValue }),
  }
}

/** A percentage that has not changed is sent again after this time, as a sign of life. */
const repeatMs = 10_000

/** Sends the percentage to callers that ask for it, when it changes and every so often. */
function progressWriter(stream: Stream): (percent: number) => void {
  const isWanted = stream.metadata.get(progressMetadataKey).length > 0
  let last = { progress: 0, atMs: performance.now() }
  return (percent) => {
    // The wire has no difference between 0 and a field that is not set.
    const progress = Math.min(100, Math.max(1, Math.floor(percent)))
    const nowMs = performance.now()
    if (!isWanted || Number.isNaN(progress) || stream.cancelled || stream.writableEnded) return
    if (progress === last.progress && nowMs - last.atMs < repeatMs) return
    last = { progress, atMs: nowMs }
    stream.write(Buffer.from(toBinary(DiscoverResponseSchema, create(DiscoverResponseSchema, { progress }))))
  }
}

type Way = { stream: Stream; signal: AbortSignal; log: Log }

/** Devices go out as they are found, and no faster than they are taken. */
async function send(found: AsyncIterable<Found> | Iterable<Found>, { stream, signal, log }: Way) {
  const sent = { devices: 0, errors: 0 }
  for await (const bytes of inBatches(encoded(found, sent), batch)) {
    signal.throwIfAborted()
    if (!stream.write(bytes)) await once(stream, 'drain', { signal })
  }
  signal.throwIfAborted()
  if (sent.errors > 0) log.warn('Some devices could not be read.', { errors: sent.errors })
  return sent
}

async function* encoded(found: AsyncIterable<Found> | Iterable<Found>, sent: { devices: number; errors: number }) {
  const writer = new BinaryWriter()
  for await (const one of found) {
    const { isDevice, bytes } = responseOf(one, writer)
    sent[isDevice ? 'devices' : 'errors'] += 1
    yield bytes
  }
}

/** A device that cannot be sent is an error of that device, and the others go on. */
function responseOf(found: Found, writer: BinaryWriter): { isDevice: boolean; bytes: Uint8Array } {
  if ('error' in found) return { isDevice: false, bytes: errorBytes(found) }
  try {
    const bytes = deviceBytes(found, writer)
    if (bytes.byteLength <= largestMessageBytes) return { isDevice: true, bytes }
    throw new LinkError('OUT_OF_RANGE', `The device has ${bytes.byteLength} bytes, more than a message may have.`)
  } catch (thrown) {
    return { isDevice: false, bytes: errorBytes({ ...found, error: linkErrorOf(thrown) }) }
  }
}

const devicesTag = (DiscoverResponseSchema.field.devices.number << 3) | WireType.LengthDelimited

function deviceBytes({ asset, address }: Extract<Found, { asset: unknown }>, writer: BinaryWriter): Uint8Array {
  const connection = address === undefined ? {} : { connectionParameterSet: parametersOf(address) }
  const rest = create(DiscoveredDeviceSchema, { timestamp: ticksOf(new Date()), ...connection })
  // What a device that could not be written left behind must not be in this one.
  writer.finish()
  // Encoded messages one after the other are one message.
  writeIdentifiers(writer.uint32(devicesTag).fork(), asset).raw(toBinary(DiscoveredDeviceSchema, rest))
  return writer.join().finish()
}

function errorBytes({ error, address }: Extract<Found, { error: unknown }>): Uint8Array {
  const where: MessageInitShape<typeof DestinationSchema> | undefined = address && {
    target: { case: 'connectionParameterSet', value: parametersOf(address) },
  }
  const discoverError = {
    resultCode: error.number,
    description: error.message,
    ...(where === undefined ? {} : { source: { case: 'device' as const, value: where } }),
  }
  return toBinary(DiscoverResponseSchema, create(DiscoverResponseSchema, { errors: [discoverError] }))
}

function parametersOf(address: Address) {
  return { schemaUri: baseSchemaUrl, parameterJson: JSON.stringify(address) }
}
