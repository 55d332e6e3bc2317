import type { RemoteService } from '@millwright/api/remote-access.ts'

type ConnectCommand = { assetId: string; service: RemoteService; port?: number | undefined }

/** Returns the command that connects to an asset on the command line. A TCP port is a number instead of a service. */
export function connectCommand({ assetId, service, port }: ConnectCommand): string {
  return `millwright connect ${assetId} ${service === 'tcp' ? (port ?? '<port>') : service}`
}
