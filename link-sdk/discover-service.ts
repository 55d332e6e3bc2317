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
import type { Address, DiscoveryResult, LinkDefinition } from './define-link.ts'
import { writeIdentifiers } from './device-identifiers.ts'
import { LinkError, linkErrorOf, statusOf } from './link-error.ts'
import type { Log } from './log.ts'
import type { Parameter } from './manifest.ts'
import { readFilters, readOptions } from './parameters.ts'
import { targetOf } from './target.ts'
import { answer, type ServedService, type ServiceContext, scanOf, signalOf } from './unary.ts'

/** The maximum size of a message. It is below 4 MiB, which is the default limit of gRPC clients. */
const largestMessageBytes = 3 * 1024 * 1024
const batch = { items: 100, bytes: 256 * 1024 } as const

type Context = ServiceContext & { stopping: AbortSignal }
type Stream = ServerWritableStream<DiscoverRequest, Buffer>

/**
 * Returns the discovery service. The limit of concurrent discoveries applies to the service names of all vendor
 * prefixes together.
 */
export function discoverService(
  { manifest, discover }: LinkDefinition,
  { log, stopping, permits: source, home }: Context,
): ServedService {
  let underWay = 0

  async function discoverDevices(stream: Stream): Promise<void> {
    const signal = AbortSignal.any([signalOf(stream), stopping])
    const filters = readFilters(stream.request.filters, manifest.filters)
    const options = readOptions(stream.request.options, manifest.options)
    const targets = stream.request.target.map(targetOf)
    if (underWay >= (manifest.discoveriesAtOnce ?? 1)) {
      throw new LinkError('RESOURCE_EXHAUSTED', 'A discovery is running. Retry when it has ended.')
    }
    underWay += 1
    const startedAt = performance.now()
    // The values are not logged, because a user can read the log without permission to read the discovery.
    log.info('Discovery started.', {
      filters: filters.map(({ key }) => key),
      options: Object.keys(options),
      targets: targets.length,
    })
    using permits = source.forCall({ signal, ...scanOf(stream) })
    try {
      const progress = progressWriter(stream)
      const results = discover({ filters, options, targets, progress, signal, permits, log, home })
      const { devices, errors } = await send(results, { stream, signal, log })
      log.info('Discovery ended.', { devices, errors, milliseconds: Math.round(performance.now() - startedAt) })
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

function fail(stream: Stream, { error, log, stopping }: Omit<Context, 'permits'> & { error: unknown }): void {
  if (stream.cancelled) return void log.info('Discovery canceled.')
  const reason = stopping.aborted ? new LinkError('UNAVAILABLE', 'The link is stopping.') : error
  if (!(reason instanceof LinkError)) log.error('Discovery failed.', { error })
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

/** The time after which an unchanged percentage is sent again, so that the gateway knows that the link is running. */
const repeatMs = 10_000

/**
 * Returns a function that sends the percentage if the caller of the discovery requested it. The percentage is sent when
 * it changes, and otherwise again after `repeatMs`.
 */
function progressWriter(stream: Stream): (percent: number) => void {
  const isWanted = stream.metadata.get(progressMetadataKey).length > 0
  let last = { progress: 0, atMs: performance.now() }
  return (percent) => {
    // The minimum is 1, because the protocol does not distinguish 0 from a field that is not set.
    const progress = Math.min(100, Math.max(1, Math.floor(percent)))
    const nowMs = performance.now()
    if (!isWanted || Number.isNaN(progress) || stream.cancelled || stream.writableEnded) return
    if (progress === last.progress && nowMs - last.atMs < repeatMs) return
    last = { progress, atMs: nowMs }
    stream.write(Buffer.from(toBinary(DiscoverResponseSchema, create(DiscoverResponseSchema, { progress }))))
  }
}

type SendOptions = { stream: Stream; signal: AbortSignal; log: Log }

/** Sends devices as they are found. Waits while the receiver is slower than the scan (back-pressure). */
async function send(
  results: AsyncIterable<DiscoveryResult> | Iterable<DiscoveryResult>,
  { stream, signal, log }: SendOptions,
) {
  const sent = { devices: 0, errors: 0 }
  for await (const bytes of inBatches(encoded(results, sent), batch)) {
    signal.throwIfAborted()
    if (!stream.write(bytes)) await once(stream, 'drain', { signal })
  }
  signal.throwIfAborted()
  if (sent.errors > 0) log.warn('Some devices could not be read.', { errors: sent.errors })
  return sent
}

async function* encoded(
  results: AsyncIterable<DiscoveryResult> | Iterable<DiscoveryResult>,
  sent: { devices: number; errors: number },
) {
  const writer = new BinaryWriter()
  for await (const one of results) {
    const { isDevice, bytes } = responseOf(one, writer)
    sent[isDevice ? 'devices' : 'errors'] += 1
    yield bytes
  }
}

/**
 * Encodes a result. If a device cannot be encoded, the result is an error of that device, and the discovery continues.
 */
function responseOf(result: DiscoveryResult, writer: BinaryWriter): { isDevice: boolean; bytes: Uint8Array } {
  if ('error' in result) return { isDevice: false, bytes: errorBytes(result) }
  try {
    const bytes = deviceBytes(result, writer)
    if (bytes.byteLength <= largestMessageBytes) return { isDevice: true, bytes }
    throw new LinkError(
      'OUT_OF_RANGE',
      `The device has ${bytes.byteLength} bytes, which exceeds the limit of a message.`,
    )
  } catch (thrown) {
    return { isDevice: false, bytes: errorBytes({ ...result, error: linkErrorOf(thrown) }) }
  }
}

const devicesTag = (DiscoverResponseSchema.field.devices.number << 3) | WireType.LengthDelimited

function deviceBytes(
  { asset, address, metadata }: Extract<DiscoveryResult, { asset: unknown }>,
  writer: BinaryWriter,
): Uint8Array {
  const connection = address === undefined ? {} : { connectionParameterSet: parametersOf(address) }
  const rest = create(DiscoveredDeviceSchema, { timestamp: ticksOf(new Date()), ...connection })
  // Removes the bytes that remain from a device whose encoding failed.
  writer.finish()
  // The concatenation of two encoded messages is one valid message, so the rest of the device can be appended.
  const named = metadata === undefined ? asset : { ...asset, metadata: Buffer.from(metadata).toString('base64') }
  writeIdentifiers(writer.uint32(devicesTag).fork(), named).raw(toBinary(DiscoveredDeviceSchema, rest))
  return writer.join().finish()
}

function errorBytes({ error, address }: Extract<DiscoveryResult, { error: unknown }>): Uint8Array {
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
