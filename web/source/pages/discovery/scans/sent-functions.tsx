import type { AssetLink, Discovery } from '@millwright/api/discovery.ts'
import { type PlannedFunction, plannedFunctions } from '@millwright/api/sent-function.ts'
import { useText } from '../../../app/language/language-context.tsx'
import { scanMessages } from './scan-messages.ts'

type SentFunctionsProps = { link: AssetLink; options: Discovery['discoveryOptions'] }

const transportNames: Readonly<Record<PlannedFunction['transport'], string>> = {
  udp: 'UDP',
  tcp: 'TCP',
  icmp: 'ICMP',
  ethernet: 'Ethernet',
}

/** `SentFunctions` lists what the link sends to devices in a scan with these options. */
export function SentFunctions({ link, options }: SentFunctionsProps) {
  const text = useText(scanMessages)
  if (link.sends === undefined || link.sends.length === 0) return undefined
  const values = Object.fromEntries(options.map(({ key, value }) => [key, value]))
  return (
    <details className="group">
      <summary>{text.sends}</summary>
      <p className="quiet">{text.sendsHint}</p>
      <table className="plain-table">
        <thead>
          <tr>
            <th scope="col">{text.sentFunction}</th>
            <th scope="col">{text.sentCode}</th>
            <th scope="col">{text.sentPorts}</th>
            <th scope="col">{text.sentPurpose}</th>
          </tr>
        </thead>
        <tbody>
          {plannedFunctions(link.sends, link.options, values).map((sent) => (
            <tr key={`${sent.protocol} ${sent.operation}`}>
              <td>{sent.operation}</td>
              <td>{sent.code}</td>
              <td>{`${transportNames[sent.transport]} ${sent.ports}`}</td>
              <td lang="en">{sent.description}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  )
}
