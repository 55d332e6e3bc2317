/** The reason codes of MQTT 5 that a broker can send to a publisher, with the names of the MQTT specification. */
const names: Readonly<Record<number, string>> = {
  128: 'Unspecified error',
  129: 'Malformed packet',
  130: 'Protocol error',
  131: 'Implementation specific error',
  132: 'Unsupported protocol version',
  133: 'Client identifier not valid',
  134: 'Bad user name or password',
  135: 'Not authorized',
  136: 'Server unavailable',
  137: 'Server busy',
  138: 'Banned',
  139: 'Server shutting down',
  140: 'Bad authentication method',
  141: 'Keep alive timeout',
  142: 'Session taken over',
  144: 'Topic name invalid',
  145: 'Packet identifier in use',
  147: 'Receive maximum exceeded',
  148: 'Topic alias invalid',
  149: 'Packet too large',
  150: 'Message rate too high',
  151: 'Quota exceeded',
  152: 'Administrative action',
  153: 'Payload format invalid',
  154: 'Retain not supported',
  155: 'QoS not supported',
  156: 'Use another server',
  157: 'Server moved',
  159: 'Connection rate exceeded',
  160: 'Maximum connect time',
}

/** What a user can do. */
const advice: Readonly<Record<number, string>> = {
  133: 'Change the client id',
  134: 'Check the user name and the password',
  142: 'Another client uses the same client id. Change the client id of one of them',
  144: 'Change the topic',
  154: 'Set retain to false and the status topic to null',
}

/** MQTT 3.1.1 brokers answer a client of MQTT 5 with the return code 1. */
const olderVersion = 1
const unsupportedVersion = 132
const notAuthorized = 135

/** The reason codes from this one on are errors. */
export const firstErrorCode = 128

/** Returns the sentence for the log when the broker refused the connection. */
export function refusedConnection(code: number): string {
  if (code === olderVersion || code === unsupportedVersion)
    return 'The broker does not support MQTT 5. Use a broker with MQTT 5'
  const more = code === notAuthorized ? 'Check the user name, the password and the rights on the broker' : advice[code]
  return sentence('The broker refused the connection', code, more)
}

/** Returns the sentence for the log when the broker refused a publication. It does not contain the topic, which can name an asset. */
export function refusedPublication(code: number): string {
  const more =
    code === notAuthorized ? 'Allow the user on the broker to publish to the topics of this publisher' : advice[code]
  return sentence('The broker refused the event', code, more)
}

/** Returns the sentence for the log when the broker ended the connection. */
export function closedByBroker(code: number): string {
  return sentence('The broker closed the connection', code, advice[code])
}

function sentence(what: string, code: number, more: string | undefined): string {
  const reason = names[code] === undefined ? `reason code ${code}` : `${names[code]} (reason code ${code})`
  return more === undefined ? `${what}: ${reason}` : `${what}: ${reason}. ${more}`
}
