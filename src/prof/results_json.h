/* The JSON form of results; see pcti_results_text and pcti_results_read. */
#ifndef PCTI_PROF_RESULTS_JSON_H
#define PCTI_PROF_RESULTS_JSON_H

#include "prof/json.h"
#include "prof/row.h"

enum { PCTI_RESULTS_FORMAT = 1 };

void pcti_results_add_json(const pcti_results *results, pcti_json *json);
void pcti_machine_add_json(const pcti_machine *machine, const char *name, pcti_json *json);
/* The extras alone, as one object. */
void pcti_row_add_extras_json(const pcti_row *row, pcti_json *json);

#endif
