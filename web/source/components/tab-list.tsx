type Given<Id extends string> = {
  label: string
  tabs: readonly { id: Id; label: string; count?: string }[]
  chosen: Id
  onChoose: (id: Id) => void
}

/** Ways to look at the same thing: links in a row, of which one is open. */
export function TabList<Id extends string>({ label, tabs, chosen, onChoose }: Given<Id>) {
  return (
    <nav className="tabs" aria-label={label}>
      {tabs.map((tab) => (
        <button
          key={tab.id}
          type="button"
          className="tab"
          aria-current={tab.id === chosen ? 'page' : undefined}
          onClick={() => onChoose(tab.id)}
        >
          {tab.label}
          {tab.count !== undefined && <span className="tab-count">{tab.count}</span>}
        </button>
      ))}
    </nav>
  )
}
