/** The number of rows of a template with lists of allowed values. */
const listedRows = 10_000

type TemplateColumn = {
  heading: string
  /** The allowed values. They are offered as a drop-down list. */
  values: readonly string[]
  /** Whether spreadsheet programs keep the text as it is entered: 00123 does not become 123, and 12E5 not 1200000. */
  isText: boolean
}

/** Writes an empty workbook with headings. The allowed values are in a second sheet, because a list can be long. */
export async function writeTemplate(columns: readonly TemplateColumn[]): Promise<Uint8Array> {
  // The library is loaded on demand, because loading takes time and templates are requested rarely.
  const { writeXlsx } = await import('hucre/xlsx')
  const lists = columns.filter(({ values }) => values.length > 0)
  const longest = Math.max(0, ...lists.map(({ values }) => values.length))
  const rows = Array.from({ length: longest }, (_, row) => lists.map(({ values }) => values[row] ?? null))
  return writeXlsx({
    sheets: [
      {
        name: 'Assets',
        rows: [columns.map(({ heading }) => heading)],
        columns: columns.map(({ heading, isText }) => ({
          width: Math.max(12, heading.length + 4),
          ...(isText ? { numFmt: '@' } : {}),
        })),
        freezePane: { rows: 1 },
        dataValidations: columns.flatMap(({ values }, index) => {
          if (values.length === 0) return []
          const list = columnName(lists.findIndex((one) => one.values === values))
          const own = columnName(index)
          return [
            {
              type: 'list' as const,
              formula1: `Lists!$${list}$2:$${list}$${values.length + 1}`,
              range: `${own}2:${own}${listedRows + 1}`,
              allowBlank: true,
              showErrorMessage: true,
              errorTitle: 'Unknown value',
              errorMessage: 'Select a value from the list, or leave the cell empty.',
            },
          ]
        }),
      },
      { name: 'Lists', rows: [lists.map(({ heading }) => heading), ...rows] },
    ],
  })
}

function columnName(column: number): string {
  const letter = String.fromCharCode(65 + (column % 26))
  return column < 26 ? letter : columnName(Math.floor(column / 26) - 1) + letter
}
