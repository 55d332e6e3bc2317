import { useText } from '../../app/language/language-context.tsx'
import { SelectField } from '../../components/forms/fields.tsx'
import { mapMessages } from './map-messages.ts'

/** The orders of the subnets in the grid and in the list: the most important problem first, or by address. */
const subnetOrders = ['problem', 'address'] as const
type SubnetOrder = (typeof subnetOrders)[number]

/** Returns the order of the search parameter `sort`. */
export function subnetOrderOf(sort: string | undefined): SubnetOrder {
  return subnetOrders.find((order) => order === sort) ?? 'problem'
}

type SubnetOrderFieldProps = { value: SubnetOrder; onChange: (order: SubnetOrder) => void }

/** `SubnetOrderField` shows and selects the order of the subnets. */
export function SubnetOrderField({ value, onChange }: SubnetOrderFieldProps) {
  const text = useText(mapMessages)
  const names = { problem: text.problem, address: text.address }
  return (
    <div className="map-order">
      <SelectField
        label={text.sortBy}
        value={value}
        choices={subnetOrders.map((order) => ({ value: order, label: names[order] }))}
        onChange={onChange}
      />
    </div>
  )
}
