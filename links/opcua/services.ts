import type { SentFunction } from '@millwright/api/sent-function.ts'

export const protocol = 'opcua'
export const defaultPort = 4840

/**
 * The messages that the link sends, with the numeric ids of their binary encodings (OPC 10000-6, NodeIds.csv). All of
 * them only read.
 */
const messages = {
  Hello: ['HEL', 'Opens a connection and negotiates the sizes of buffers'],
  OpenSecureChannel: ['i=446', 'Opens a secure channel, with security or without'],
  GetEndpoints: ['i=428', 'Reads the endpoints of a server and their certificates'],
  FindServers: ['i=422', 'Reads the servers that a discovery server lists'],
  CreateSession: ['i=461', 'Creates a session'],
  ActivateSession: ['i=467', 'Signs in: anonymous, or with a user name or a certificate'],
  Read: ['i=631', 'Reads values: server status, build information, namespaces, nameplates'],
  Browse: ['i=527', 'Reads the children of nodes below the DeviceSet'],
  BrowseNext: ['i=533', 'Reads further children of a node with many children'],
  CloseSession: ['i=473', 'Closes the session'],
  CloseSecureChannel: ['i=452', 'Closes the secure channel'],
} as const

export type Operation = keyof typeof messages

export const sentFunctions: readonly SentFunction[] = Object.entries(messages).map(
  ([operation, [code, description]]) => ({
    protocol,
    operation,
    code,
    transport: 'tcp',
    ports: [defaultPort],
    portsOption: 'ports',
    description,
  }),
)
